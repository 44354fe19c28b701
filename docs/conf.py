"""Sphinx configuration."""

import sys
from importlib.metadata import version as package_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

project = "stabbench"
author = "The stabbench developers"
copyright = f"2026, {author}"
release = package_version("stabbench")
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples", "gallery/**/*.ipynb"]

# numpydoc states the types, in words; they are not names to be linked
autodoc_typehints = "none"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False

nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(click|flint|fractions|matplotlib|mpmath|networkx|numpy|np|pathlib|scipy)\..*"),
    ("py:exc", r"[A-Z]\w+(Error|Exception|Warning)"),
    ("py:(class|obj)", r"abc\.ABC|enum\.Enum|object|tuple|typing\..*"),
]

html_theme = "furo"
html_title = f"stabbench {release}"

if any((HERE / "examples").glob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "examples",
        "gallery_dirs": "gallery",
        "filename_pattern": r"plot_.*\.py$",
        "download_all_examples": False,
        "show_signature": False,
        "abort_on_example_error": True,
    }
