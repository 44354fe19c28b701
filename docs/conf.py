"""Sphinx configuration."""

import sys
import types
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

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
    (
        "py:.*",
        r"(click|collections|flint|fractions|matplotlib|mpmath|networkx|numpy|np|pathlib|scipy)\..*",
    ),
    ("py:exc", r"[A-Z]\w+(Error|Exception|Warning)"),
    ("py:(class|obj)", r"abc\.ABC|enum\.Enum|object|tuple|typing\..*"),
]

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["formulas.css"]
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


def escape_bars(*event: Any) -> None:
    """Bars in docstrings are absolute values and norms, not substitutions."""
    lines = event[-1]
    for number, line in enumerate(lines):
        if "`" not in line and not line.lstrip().startswith((">>>", "...")):
            lines[number] = line.replace("|", "\\|")


def skip_alias(*event: Any) -> bool | None:
    """Leave out names of generic types, which have no signature."""
    return True if isinstance(event[3], types.GenericAlias) else None


def formula(translator: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers show without scripts and without a network."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    written = convert(node.astext(), display=display)
    if "<mi>&</mi>" in written:
        raise ValueError(f"an environment that latex2mathml does not know: {node.astext()}")
    translator.body.append(written)
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect what changes docstrings on their way into the pages, and what writes formulas."""
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("autodoc-process-docstring", escape_bars, priority=900)
    app.connect("autodoc-skip-member", skip_alias)
