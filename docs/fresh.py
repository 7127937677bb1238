"""Takes the project into empty environments: make fresh

Builds the wheel and the sdist and looks into them; installs the wheel into an empty virtual environment and runs the
code of the home page there; runs the README's first command, make demo, in a copy of the sources without an
environment. (Its second, make test, is part of what continuous integration runs in such a copy.)
"""

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: object, cwd: Path) -> str:
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # what the caller's environment has
    surroundings = {key: value for key, value in os.environ.items() if key not in hidden}
    print("$", *command, flush=True)
    ended = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=surroundings, text=True, stdout=subprocess.PIPE
    )
    if ended.returncode:
        sys.exit(f"{ended.stdout}\nended with {ended.returncode}")
    return ended.stdout


def look_into(wheel: Path, sdist: Path) -> None:
    """Typed, with the licence; both without tests, the sdist without pictures and environments."""
    names = zipfile.ZipFile(wheel).namelist()
    typed = {"rosenblatt/py.typed", "rosenblatt/__init__.pyi", "rosenblatt/plot/__init__.pyi", "rosenblatt/records.pyi"}
    assert typed <= set(names), "the wheel is not typed"
    assert any(name.endswith("licenses/LICENSE") for name in names), "the wheel has no licence"
    outside = [name for name in names if not name.startswith(("rosenblatt/", "rosenblatt-")) or "/test" in name]
    assert not outside, f"the wheel has more: {outside}"
    with tarfile.open(sdist) as archive:
        parts = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    assert {"src", "LICENSE", "README.md", "pyproject.toml"} <= parts, "the sdist cannot be built from"
    assert not parts & {"docs", "tests", ".github", ".ci", ".venv"}, f"the sdist has more: {sorted(parts)}"
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {sdist.name}: {sdist.stat().st_size:,} bytes")


def main() -> None:
    home = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    code, shown = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", home, re.DOTALL)[0]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT, cwd=place)
        (wheel,), (sdist,) = (place / "dist").glob("*.whl"), (place / "dist").glob("*.tar.gz")
        look_into(wheel, sdist)

        venv.create(place / "empty", with_pip=True)
        python = place / "empty" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel, cwd=place)
        (place / "home.py").write_text(code, encoding="utf-8")
        printed = run(python, "home.py", cwd=place)
        seconds = re.compile(r"in [\d.e-]+ s\b")
        assert seconds.sub("", printed).strip() == seconds.sub("", shown).strip(), f"the home page shows\n{shown}"
        print(printed)

        copy = place / "copy"
        copy.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x"], cwd=copy, input=archive, check=True)
        printed = run("make", "demo", cwd=copy)
        assert "test accuracy" in printed
        print(printed)


if __name__ == "__main__":
    main()
