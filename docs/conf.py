"""How Sphinx builds the book: make docs."""

import os
import sys
from pathlib import Path

from rosenblatt import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ["MPLBACKEND"] = "Agg"

project = "rosenblatt"
author = "the rosenblatt authors"
copyright = "the rosenblatt authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "mathml",  # ours, in _ext
    "docstrings",  # ours too: numpydoc's sections
    "commands",
    "crosslinks",
    "excerpts",
    "questions",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_templates"]
suppress_warnings = ["toc.empty_glob"]
nitpicky = False
default_role = "py:obj"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline", "attrs_block", "fieldlist"]
myst_heading_anchors = 3

smartquotes_action = "D"  # dashes, but no quotes: "log" is a string to type
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's "Parameters" say them in words
autodoc_member_order = "bysource"
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "rosenblatt"
html_static_path = ["_static"]
html_css_files = ["book.css", "playground.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("playground.js", "copy.js")]
html_math_renderer = "mathml"
html_show_search_summary = False  # it would fetch every page that was found: _ext/excerpts.py has their words
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# They have no pages below them.
html_sidebars = {page: [] for page in ("index", "quickstart", "tour", "lectures", "inside")}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_signature": False,
    "capture_repr": (),
    "within_subsection_order": "gallery_order.InOrder",
    "matplotlib_animations": False,
}
