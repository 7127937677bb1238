"""What short fits gave, and models that they saved: the code of today gives the same.

tests/golden/table.json has an entry for each case of `golden_cases`: weights, records, outcomes, warnings, answers, and
what one more epoch makes of the model. tests/golden/models-2.tar.xz has model files of format 2 with every kind of
record, and checkpoints of trainings that were half done; each must say and become what the table says of its case.

Whole numbers, words and yes or no are always compared exactly. Other numbers:

- of "exact" cases to the bit: no number is ever rounded, or only once;
- of "rounded" cases to 1e-9 (single precision: 1e-4), since vector units of another width round sums in another
  order; with ROSENBLATT_GOLDEN=bits to the bit, which holds where the processor and numba are those of the table;
- of "blas" cases always to 1e-7 (single precision: 1e-3).

Where the last bit decides more than the last bit, that is compared with ROSENBLATT_GOLDEN=bits only: passive-aggressive
rules put a row exactly at its margin, and whether it is above or below at its next visit is worth an update of no
length; and the path of `KernelSVM` to its gap turns where two rows violate it alike.

Where a result is meant to change, tests/golden/make.py makes its entry again.
"""

import json
import os
from functools import partial

import pytest
from model_file_cases import opened

import rosenblatt
from golden_cases import CASES
from golden_runs import GOLDEN, run, run_stored, stored_models
from rosenblatt.model_files.encoding import RECORDS

BITS = os.environ.get("ROSENBLATT_GOLDEN") == "bits"
TABLE = json.loads((GOLDEN / "table.json").read_text())
MODELS = stored_models()


UNSURE = {
    "PassiveAggressive": ("/updates",),
    "PassiveAggressiveRegressor": ("/updates",),
    "HierarchicalPerceptron": ("/updates",),
    "TableClassifier": (
        "/learner/records/updates",
        "/learner/report/updates",
    ),  # of PA inside
    "KernelSVM": ("/updates", "/warned", "/records", "/n_iter_", "/told", "/gap", "/support_"),
}


def tolerance(case):
    single = "float32" in case.form
    if case.learner == "KernelSVM" and not BITS:
        return 0.02
    if case.kind == "blas":
        return 1e-3 if single else 1e-7
    if case.kind == "exact" or BITS:
        return 0.0
    return 1e-4 if single else 1e-9


def differences(stored, now, within, where=""):
    """Where two notes differ: the path to each place, and both values."""
    if isinstance(stored, dict) and isinstance(now, dict):
        names = sorted(stored.keys() | now.keys())
        return [
            found
            for name in names
            if not (within and name == "sha256")
            for found in differences(stored.get(name), now.get(name), within, f"{where}/{name}")
        ]
    if isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        if where.endswith("/warned"):  # a warning may come to point at the line of the caller, where it did not
            stored = [[text, here or there] for (text, here), (_, there) in zip(stored, now, strict=True)]
        scale = max([1.0, *(abs(one) for one in stored if type(one) is float)])
        return [
            found
            for k, (one, other) in enumerate(zip(stored, now, strict=True))
            for found in differences(one, other, within, f"{where}[{k}]")
            if not (type(one) is type(other) is float and abs(one - other) <= within * scale)
        ]
    if type(stored) is type(now) is float:
        same = stored == now or stored != stored != now != now
        if same or abs(stored - now) <= within * max(1.0, abs(stored)):
            return []
    return [] if type(stored) is type(now) and stored == now else [f"{where}: {stored!r} was kept, {now!r} is found"]


def check(case, stored, now):
    found = differences(stored, json.loads(json.dumps(now)), tolerance(case))
    if not BITS:
        found = [one for one in found if not any(part in one for part in UNSURE.get(case.learner, ()))]
    assert not found, f"{case.name}:\n" + "\n".join(found[:20])


def check_saved(case, path, model):
    """What a fit leaves can be saved, but for functions that it was given."""
    try:
        rosenblatt.save(model, path)
    except rosenblatt.FileError as error:
        if "holds a function" not in error.what:
            pytest.fail(f"{case.name}: {error.what}; give a record a tag in model_files/encoding.py")


def tags_in(node):
    """The tags of all records in the header of a model file."""
    if isinstance(node, dict) and "record" in node:
        yield node["record"]
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from tags_in(one)


def test_the_stored_models_have_every_kind_of_record():
    found = {tag for data in MODELS.values() for tag in tags_in(opened(data)[0])}
    assert found == RECORDS.keys()


def test_the_table_has_every_case():
    assert list(TABLE) == [case.name for case in CASES]
    assert sorted(MODELS) == sorted(case.name for case in CASES if case.stored)


FITS = [pytest.param(case, marks=() if case.stored else pytest.mark.exhaustive, id=case.name) for case in CASES]


@pytest.mark.parametrize("case", FITS)
def test_a_fit_gives_what_it_gave(case, tmp_path):
    check(case, TABLE[case.name], run(case, tmp_path, keep=partial(check_saved, case, tmp_path / "saved")))


@pytest.mark.parametrize("case", [case for case in CASES if case.stored], ids=lambda case: case.name)
def test_a_stored_model_is_what_it_was(case, tmp_path):
    (tmp_path / "model").write_bytes(MODELS[case.name])
    (tmp_path / "run").mkdir()
    now = run_stored(case, tmp_path / "model", tmp_path / "run")
    check(case, {name: TABLE[case.name].get(name) for name in now}, now)
