"""The site: `make docs`. Nothing is fetched, to build it or to read it."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("MPLBACKEND", "agg")

import onepass

project = "onepass"
author = "The onepass developers"
copyright = "The onepass developers"
version = release = onepass.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_pages",
    "public_names",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "examples/README.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "code"
smartquotes = False  # --output stays --output
nitpicky = True

# Formulas are plain text and HTML: no MathJax, no images.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the sections Parameters and Returns have them
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template lists them, each with its docstring
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["examples"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "public_names.GalleryOrder",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1,
    "plot_gallery": True,
    "nested_sections": False,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "copyfile_regex": "",
}

html_theme = "pydata_sphinx_theme"
html_title = "onepass"
html_static_path = ["_static"]
html_css_files = ["onepass.css"]
html_show_sourcelink = False
html_copy_source = False
html_use_index = True
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "benchmarks": []}
