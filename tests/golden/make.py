"""Write the golden files anew: `python tests/golden/make.py [table [NAME ...] | models]`.

- `table` (the default) runs the cases of these names, or every case, with the code as it is and writes table.json. Do
  this only where a result is meant to change, and look at the difference: every line is one case.
- `models` adds the model files that are missing to models-2.tar.xz. What a model says and how it learns on is what the
  table says of its case. Files of a format are never made again by a later one: it has an archive of its own.
"""

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import rosenblatt
from golden_cases import CASES
from golden_runs import GOLDEN, MODELS, run, stored_models
from rosenblatt.model_files.save_and_load import FORMAT


def write(name, entries):
    """One line per case, so that a difference names the cases that changed."""
    lines = [f"{json.dumps(key)}: {json.dumps(entry, separators=(',', ':'))}" for key, entry in entries.items()]
    (GOLDEN / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def in_folder(call, *args):
    with tempfile.TemporaryDirectory() as folder:
        return call(*args, Path(folder))


def model_file(case, folder):
    """The model of a case, or its checkpoint after half of its epochs."""
    run(case, folder, keep=lambda model: rosenblatt.save(model, folder / "model"))
    return (folder / ("half" if case.act.startswith("resumed") else "model")).read_bytes()


def write_archive(models):
    """All model files in one archive, dated 1970: the same bytes whenever it is made."""
    with tarfile.open(MODELS, "w:xz", preset=9) as archive:
        for name, data in models.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def make_table(names):
    kept = json.loads((GOLDEN / "table.json").read_text()) if names else {}
    write(
        "table.json",
        {
            case.name: kept[case.name] if case.name in kept and case.name not in names else in_folder(run, case)
            for case in CASES
        },
    )


def make_models():
    assert f"models-{FORMAT}." in MODELS.name, "another format has an archive of its own"
    kept = stored_models()
    write_archive({case.name: kept.get(case.name) or in_folder(model_file, case) for case in CASES if case.stored})


def main(what="table", *names):
    if what == "models":
        make_models()
    else:
        make_table(names)


if __name__ == "__main__":
    main(*sys.argv[1:])
