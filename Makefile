PYTHON ?= python3
VENV = .venv
# One process more than cores: some tests wait for a browser, a terminal or a cluster.
JOBS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) + 1 )))
# A file's tests run in one process: they share compiled functions, which two processes would both compile. Files start
# in the order of tests/conftest.py.
# The processes share the cores: further threads of BLAS would only wait for each other, and spin while they do.
PYTEST = OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

BIN = $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --quiet --compile -c constraints.txt
PACKAGE = pyproject.toml constraints.txt src/rosenblatt/_version.py

# Without bytecode every import of numba and scikit-learn compiles thousands of lines anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# Two installs into one environment must not overlap.
.NOTPARALLEL:
.PHONY: help demo test test-all fuzz coverage check format docs fresh bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.demo  ## learn handwritten digits, prove that they are separated, draw what was learned
	@NUMBA_CACHE_DIR=$(VENV)/cache PYTHONPYCACHEPREFIX=$(VENV)/cache $(BIN)/python examples/demo.py

test: $(VENV)/.test  ## run the tests, one case of everything, and every example in the docstrings
	$(PYTEST) -m "not exhaustive"

test-all: test  ## then the exhaustive cases too: long grids of parameters, mutated files, clusters
	$(PYTEST) -m exhaustive

fuzz: $(VENV)/.test  ## mutate 10,000 files of each kind, where make test-all mutates a few hundred
	ROSENBLATT_FUZZ=10000 $(PYTEST) tests -k "mutated or forged"

coverage: $(VENV)/.test  ## measure lines and branches with compilation off
	NUMBA_DISABLE_JIT=1 $(PYTEST) --dist load -m "not compiled and not browser" --cov --cov-report=term --cov-report=json:$(VENV)/coverage.json
	@$(BIN)/python -c "$$BRANCHES"

check: $(VENV)/.test  ## lint, format, types and the import contract
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test  ## format the code and fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/.docs  ## build the book into docs/_build/html, without network, and check its pages
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/check.py
	@echo "The book is in docs/_build/html/index.html"

fresh: $(VENV)/.test  ## build the wheel, and take it and the sources into empty environments
	$(BIN)/python docs/fresh.py

bench: $(VENV)/.bench  ## measure against peers (data sets from the folder ROSENBLATT_DATA, where set)
	$(BIN)/python benchmarks/bench.py

clean:  ## remove caches and build outputs (.venv stays)
	find src tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	rm -rf build dist demo.png docs/_build docs/gallery docs/reference/api htmlcov .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# The total that coverage compares with its limit mixes lines and branches; the branches alone must reach it too.
define BRANCHES
import json, sys
from coverage import Coverage
totals = json.load(open("$(VENV)/coverage.json"))["totals"]
limit = Coverage().get_option("report:fail_under")
percent = 100 * totals["covered_branches"] / max(totals["num_branches"], 1)
print(f"branches covered: {percent:.2f} % (at least {limit:g} %)")
sys.exit(percent < limit)
endef
export BRANCHES

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "rosenblatt needs Python 3.11 or newer, and '$(PYTHON)' is not one ($$($(PYTHON) --version 2>&1))." >&2; \
		echo "Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# A stamp stands for one set of extras; the larger sets contain that of the demo. Only the demo's install shows every
# package, because who runs it first waits for it.
$(VENV)/.demo: $(PACKAGE) | $(BIN)/python
	@echo "Installing rosenblatt and matplotlib into $(VENV), which takes a minute or two ..."
	@$(subst --quiet,,$(INSTALL)) --no-cache-dir -e ".[plot]" | sed -u -n -e 's/^Downloading \([^-]*\)-.*(\(.*\))$$/  \1, \2/p' -e '/^Success/d'
	@$(BIN)/python -c 'import matplotlib, rosenblatt'
	@touch $@

$(VENV)/.test: $(PACKAGE) | $(BIN)/python
	@echo "Installing rosenblatt and its test tools into $(VENV) ..."
	@$(INSTALL) -e ".[test-all]"
	@touch $(VENV)/.demo $@

$(VENV)/.docs: $(PACKAGE) | $(BIN)/python
	@echo "Installing rosenblatt and the tools of its book into $(VENV) ..."
	@$(INSTALL) -e ".[docs]"
	@touch $(VENV)/.demo $@

$(VENV)/.bench: $(PACKAGE) | $(BIN)/python
	@echo "Installing rosenblatt and its peers into $(VENV) ..."
	@$(INSTALL) -e ".[plot,bench]"
	@touch $(VENV)/.demo $@
