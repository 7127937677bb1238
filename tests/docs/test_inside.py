"""The page for contributors lists every file of the package, and names only files that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "rosenblatt"
TEXT = (ROOT / "docs" / "inside.md").read_text(encoding="utf-8")


def test_every_file_of_the_package_is_listed_once():
    listed = re.findall(r"^\| `([\w/]+\.py)` \|", TEXT.partition("## Where things are")[2], re.MULTILINE)
    files = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")]
    wanted = [name for name in files if not name.endswith(("__init__.py", "_version.py"))]
    assert sorted(listed) == sorted(wanted), "run docs/map/files.py"


def test_every_file_that_is_named_exists():
    named = set(re.findall(r"(?<![\w/])((?:\w+/)+\w+\.pyi?)", TEXT))
    assert named
    assert [name for name in sorted(named) if not ((PACKAGE / name).exists() or (ROOT / name).exists())] == []
