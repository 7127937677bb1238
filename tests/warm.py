"""Imported once by the server that forks worker processes, so that each of them is born with its kernels loaded."""

import tempfile
import warnings
from pathlib import Path

import rosenblatt

with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    path = Path(folder, "rows.svm")
    path.write_text("".join(f"{k % 3} 1:{k % 5} 2:{k % 7}.5\n" for k in range(30)))
    rosenblatt.fit(rosenblatt.AveragedPerceptron(max_epochs=2), path, shards=2)
