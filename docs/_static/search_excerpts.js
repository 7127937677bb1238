/* Below each search result, the words around the first match, from excerpts.js. */
"use strict";

(function () {
  const asked = (new URLSearchParams(location.search).get("q") || "").toLowerCase().trim();
  const words = asked.split(/\W+/).sort((a, b) => b.length - a.length);

  /* The words around what was asked, or else around its longest word. */
  function excerpt(text) {
    const small = text.toLowerCase(), at = [asked, ...words].map((word) => small.indexOf(word)).find((place) => place >= 0);
    const start = at > 60 ? text.indexOf(" ", at - 60) + 1 : 0, end = text.lastIndexOf(" ", start + 180);
    return `${start ? "… " : ""}${text.slice(start, end > start ? end : undefined)} …`;
  }

  function pageOf(link) {
    const root = new URL(document.documentElement.dataset.content_root || "./", location.href).pathname;
    return decodeURIComponent(new URL(link.href).pathname.slice(root.length)).replace(/\.html$/, "");
  }

  function complete() {
    document.querySelectorAll("#search-results li:not([data-excerpt])").forEach((item) => {
      const link = item.querySelector("a"), text = link && window.bookWords[pageOf(link)];
      item.dataset.excerpt = "";
      if (!text) return;
      const shown = document.createElement("p");
      shown.className = "search-excerpt";
      shown.textContent = excerpt(text);
      item.append(shown);
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    const results = document.getElementById("search-results");
    if (results && window.bookWords) new MutationObserver(complete).observe(results, { childList: true, subtree: true });
  });
})();
