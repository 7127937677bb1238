/* A button on each block of code copies it without prompts and without what it prints. */
"use strict";

(function () {
  /* What one would type: the lines after >>> and ... or after $, or all lines where there are no prompts. */
  function typed(text) {
    const lines = text.replace(/\n$/, "").split("\n");
    if (lines.some((line) => /^>>>( |$)/.test(line))) {
      return lines.filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => line.slice(4)).join("\n");
    }
    if (lines.some((line) => line.startsWith("$ "))) {
      const kept = lines.filter((line, i) => line.startsWith("$ ") || (i > 0 && lines[i - 1].endsWith("\\")));
      return kept.map((line) => line.replace(/^\$ /, "")).join("\n");
    }
    return lines.join("\n");
  }

  function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return Promise.resolve();
  }

  const CODE = ["python", "pycon", "console", "sh", "shell", "default", "doctest", "Python"];

  window.bookCopy = { typed };
  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(CODE.map((name) => `div.highlight-${name} > div.highlight`).join(", ")).forEach((block) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", "Copy this code");
      button.onclick = () => copy(typed(block.querySelector("pre").textContent)).then(() => {
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      block.append(button);
    });
  });
})();
