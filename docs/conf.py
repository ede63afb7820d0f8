"""How the documentation is built: `python -m sphinx -W -b html docs docs/_build/html`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pymc_bid

project = "pymc-bid"
author = "the developers of pymc-bid"
version = release = pymc_bid.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "pictures/*.py"]
source_suffix = {".md": "markdown"}

myst_heading_anchors = 3

html_theme = "furo"
html_title = "pymc-bid"
html_static_path = ["_static"]
html_css_files = ["pymc_bid.css"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False


def show_formulas_as_written(app, what, name, obj, options, lines) -> None:
    """Turn the indented formulas of docstrings into literal blocks."""
    shown: list[str] = []
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        # Sections of a numpy docstring are indented, too; formulas follow an empty line in prose.
        if line.startswith("    ") and not before.strip() and shown and _ends_prose(shown):
            shown += ["::", ""]
        shown.append(line)
    lines[:] = shown


def _ends_prose(lines: list[str]) -> bool:
    text = next((line for line in reversed(lines) if line.strip()), "")
    return not text.startswith((" ", ":", "..", "-", "*", ">>>")) and bool(text)


def setup(app) -> None:
    app.connect("autodoc-process-docstring", show_formulas_as_written, priority=900)
