"""The documentation site: Sphinx, because its references are checked and its notebooks are text.

Pages are Markdown (MyST); tutorials are notebooks kept as Markdown and run at every build; the
reference is made from docstrings by `_ext/api_pages.py`. `make docs` takes warnings as errors.
"""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "elasticgnn"
author = "the elasticgnn authors"
copyright = f"2026, {author}"
release = installed("elasticgnn")
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
    "mathml",
]
exclude_patterns = ["results/**", "results", "Thumbs.db", "_build/**"]
default_role = "code"
nitpicky = False  # torch and numpy have no inventory to look names up in without a network

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 1200  # by the clock, which also runs while a busy machine does other work
nb_merge_streams = True
suppress_warnings = ["myst-nb.lexer"]  # known only to executed notebooks

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

html_theme = "pydata_sphinx_theme"
html_title = f"elasticgnn {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# a page outside the sections has no section to navigate, and its tables want the room
html_sidebars = {page.stem: [] for page in Path(__file__).parent.glob("*.md")}
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_depth": 2,
    "header_links_before_dropdown": 5,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
}
