"""Is the estimate of a logistic regression finite? The two standard examples of the R package detectseparation.

Uses a small table of its own, and endometrial.csv and lizards.csv from the folder "separation" inside the folder that
the environment variable ROSENBLATT_DATA names, if they exist.
"""

import csv
import os
from pathlib import Path

import numpy as np

from rosenblatt import separability

TOY = "dose,exposed,ill\n1,0,0\n2,0,0\n3,0,1\n2,0,1\n4,0,0\n3,1,1\n5,1,1\n1,1,1\n"


class Named(np.ndarray):
    """An array with column names, like a data frame."""

    columns: list[str]


def named(rows: list[list[float]], columns: list[str]) -> Named:
    table = np.array(rows, dtype=float).view(Named)
    table.columns = columns
    return table


def read(name: str) -> list[dict[str, str]] | None:
    folder = os.environ.get("ROSENBLATT_DATA")
    path = Path(folder or "") / "separation" / name
    if folder is None or not path.is_file():
        print(f"{name}: skipped (ROSENBLATT_DATA names no folder with separation/{name}).\n")
        return None
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def tell(title: str, X: Named, y: list[int]) -> None:
    verdict = separability(X, y)
    print(f"{title}: {len(y)} rows, {', '.join(X.columns)}")
    print(verdict)
    if verdict.verdict == "overlap":
        print("  every coefficient has a finite estimate")
    elif verdict.infinite is None:
        print("  which estimates are infinite is not known")
    for column, sign in (verdict.infinite or {}).items():
        print(f"  the estimate of {column} is {'+' if sign > 0 else '-'}infinity")
    verdict.verify(X, y)
    print("  verified exactly\n")


def endometrial() -> None:
    table = read("endometrial.csv")
    if table is not None:
        columns = ["NV", "PI", "EH"]
        X = named([[float(row[name]) for name in columns] for row in table], columns)
        tell("endometrial cancer, high grade or not", X, [int(float(row["HG"])) for row in table])


def lizards() -> None:
    """A binomial table: each line counts lizards of two species, and becomes one row per species observed."""
    table = read("lizards.csv")
    if table is None:
        return
    factors = ["height", "diameter", "light", "time"]
    levels = {name: sorted({row[name] for row in table})[1:] for name in factors}  # the first is the baseline
    columns = [f"{name}{level}" for name in factors for level in levels[name]]
    rows, y = [], []
    for row in table:
        dummies = [float(row[name] == level) for name in factors for level in levels[name]]
        for species, code in (("grahami", 1), ("opalinus", 0)):
            if float(row[species]) > 0:  # the count does not affect the verdict
                rows.append(dummies)
                y.append(code)
    tell("lizards, grahami or opalinus", named(rows, columns), y)


def toy() -> None:
    table = list(csv.DictReader(TOY.splitlines()))
    columns = ["dose", "exposed"]
    X = named([[float(row[name]) for name in columns] for row in table], columns)
    tell("a toy table, in which everyone exposed fell ill", X, [int(row["ill"]) for row in table])


if __name__ == "__main__":
    toy()
    endometrial()
    lizards()
