"""The project itself: documentation complete and current, imports lazy, nothing from outside."""

import ast
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import click
import pytest

from docs import generate_cli, generate_codes
from stabbench.cli import main_group

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "stabbench"
MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.name == "__init__.py" or not path.name.startswith("_")
)
CONTEXTS = list(generate_cli.commands(main_group, "stabbench"))
HEAVY = {
    "flint",
    "jinja2",
    "joblib",
    "matplotlib",
    "mpmath",
    "networkx",
    "numba",
    "numpy",
    "scipy",
    "sklearn",
}


def tracked_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listing.stdout.split("\0") if name]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_has_docstring(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda context: context.command_path)
def test_command_has_help(context: click.Context) -> None:
    assert context.command.help
    undocumented = [
        parameter.name
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert undocumented == []


@pytest.mark.parametrize("page", [generate_cli, generate_codes], ids=["cli", "codes"])
def test_generated_page_is_current(page: ModuleType) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "run: make docs"


@pytest.mark.parametrize(
    "program",
    [
        "import stabbench.cli",
        "from stabbench.cli import main_group\nmain_group(['--help'], standalone_mode=False)",
    ],
)
def test_import_is_lazy(program: str) -> None:
    script = f"{program}\nimport sys\nprint(*{HEAVY} & sys.modules.keys(), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr.split() == []


def test_types_are_shipped() -> None:
    assert PACKAGE / "py.typed" in tracked_files()


def test_changelog_tells_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert {"Unreleased", version("stabbench")} & set(headings[:2])


def test_no_file_names_a_place_outside() -> None:
    outside = re.compile(rb"(?<![\w.])/(?:work|home|Users)/\w|\.\.[/]shared")
    guilty = [
        f"{path.relative_to(ROOT)}: {found.group().decode()}"
        for path in tracked_files()
        if path.is_file() and (found := outside.search(path.read_bytes()))
    ]
    assert guilty == []
