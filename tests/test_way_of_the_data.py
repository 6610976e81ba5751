"""The page about the way of the data names modules and words that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "cli/kcompact"
PAGE = (ROOT / ".github/WAY_OF_THE_DATA.md").read_text()
MODULE = re.compile(r"\b(?:tests/)?[a-z_]+(?:/[a-z_]+)*\.py\b")
FOLDER = re.compile(r"\b([a-z_/]+)/\*")
WORD = re.compile(r"^\| `(\w+)` \| `([\w/]+\.py)` \|", re.MULTILINE)
NAME_IN_MODULE = re.compile(r"`(\w+)` in `([\w/]+\.py)`")
MOST_LINES_OF_A_SCREEN = 60


def test_every_module_on_the_page_exists() -> None:
    modules = set(MODULE.findall(PAGE))
    existing = {
        name for name in modules if ((ROOT if name.startswith("tests/") else PACKAGE) / name).is_file()
    }
    assert len(modules) > 50
    assert modules == existing
    assert all((PACKAGE / folder).is_dir() for folder in FOLDER.findall(PAGE))


def is_defined(word: str, module: str) -> bool:
    definition = rf"^ *(?:(?:class|def) {word}\b|{word}\b.*=)"
    return re.search(definition, (PACKAGE / module).read_text(), re.MULTILINE) is not None


def test_every_word_is_defined_where_the_page_says() -> None:
    words = [*WORD.findall(PAGE), *NAME_IN_MODULE.findall(PAGE)]
    assert len(words) >= 12
    assert [pair for pair in words if not is_defined(*pair)] == []


def test_every_folder_of_the_package_is_on_the_page() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {folder for folder in folders if f"{folder}/" not in PAGE} <= {"options"}  # declared, not carried


def test_the_way_fits_one_screen() -> None:
    assert len(PAGE.partition("## Where is")[0].splitlines()) <= MOST_LINES_OF_A_SCREEN


def test_links_lead_somewhere() -> None:
    for page in ["WAY_OF_THE_DATA.md", "CONTRIBUTING.md"]:
        text = (ROOT / ".github" / page).read_text()
        targets = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        assert all((ROOT / ".github" / target).exists() for target in targets)
