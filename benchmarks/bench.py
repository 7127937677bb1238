"""rosenblatt compared with its peers, in one run: `make bench`.

Same data, same dtype, warm. Data sets that are not generated here are read from the folder that ROSENBLATT_DATA names;
without it those rows are left out, with a note.

    python benchmarks/bench.py [section …] [--write]     # --write: update the figures in README and docs
"""

from __future__ import annotations

import sys

import tables  # isort: skip  (first: it sets the number of threads)
import bench_bias
import bench_cluster
import bench_embeddings
import bench_felt
import bench_files
import bench_fits
import bench_lab
import bench_learning
import bench_linear
import bench_networks
import bench_prove
import bench_search
import bench_sequences
import bench_streams
import bench_tables

SECTIONS = {
    "epochs": bench_learning.epochs,
    "fits": bench_fits.run,
    "bias": bench_bias.run,
    "memory": bench_learning.memory,
    "start": bench_learning.start,
    "felt": bench_felt.run,
    "proofs": bench_prove.run,
    "linear": bench_linear.run,
    "networks": bench_networks.run,
    "files": bench_files.run,
    "tables": bench_tables.run,
    "defaults": bench_tables.defaults,
    "search": bench_search.run,
    "sequences": bench_sequences.run,
    "streams": bench_streams.run,
    "embeddings": bench_embeddings.run,
    "cluster": bench_cluster.run,
    "lab": bench_lab.run,
}

if __name__ == "__main__":
    wanted = [name for name in sys.argv[1:] if name != "--write"] or list(SECTIONS)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        sys.exit(f"no section {unknown[0]!r}: {', '.join(SECTIONS)}")
    for name in wanted:
        SECTIONS[name]()
        if "--write" in sys.argv:  # after each section, so that an interrupted run keeps its measurements
            tables.write_figures()
