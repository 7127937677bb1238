"""Write the golden files anew: `python tests/golden/make.py [table | models] [NAME ...]`.

- `table` (the default) runs the cases of these names, or every case, with the code as it is and writes table.json. Do
  this only where a result is meant to change, and look at the difference: every line is one case.
- `models` adds the model files that are missing to models-0.1.tar.xz, and writes models-0.1.json: what a stored model
  says and how it learns on, where that is not what the table says of the same case. Files of version 0.1 are never
  made again by a later one.
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
from golden_runs import GOLDEN, MODELS, run, run_stored, stored_models


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
    return (folder / ("half" if case.act == "resumed" else "model")).read_bytes()


def said(case, data, folder):
    (folder / "model").write_bytes(data)
    (folder / "run").mkdir()
    return run_stored(case, folder / "model", folder / "run")


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


def make_models(names):
    table, models = json.loads((GOLDEN / "table.json").read_text()), stored_models()
    differences = json.loads((GOLDEN / "models-0.1.json").read_text()) if names else {}
    cases = [case for case in CASES if case.stored]
    missing = [case for case in cases if case.name not in models]
    if missing:
        assert rosenblatt.__version__.startswith("0.1"), "another version has an archive of its own"
        models |= {case.name: in_folder(model_file, case) for case in missing}
        write_archive(models)
    for case in cases:
        if names and case.name not in names:
            continue
        found = in_folder(said, case, models[case.name])
        differences[case.name] = {name: one for name, one in found.items() if table[case.name].get(name) != one}
    order = [case.name for case in cases if differences.get(case.name)]
    write("models-0.1.json", {name: differences[name] for name in order})


def main(what="table", *names):
    {"table": make_table, "models": make_models}[what](names)


if __name__ == "__main__":
    main(*sys.argv[1:])
