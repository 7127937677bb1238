"""Tests and examples that need a library of another extra are skipped where only the extra `test` is installed."""

import doctest
import importlib.util

import pytest

# Libraries of the extra test-all that the extra test does without (pyproject.toml).
FURTHER = (
    "array_api_strict",
    "bokeh",
    "cryptography",
    "dask",
    "distributed",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "panel",
    "pexpect",
    "playwright",
    "polars",
    "zstandard",
)
MISSING = frozenset(name for name in FURTHER if importlib.util.find_spec(name) is None)


def _missing(error):
    """The library of another extra whose absence caused this error."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] in MISSING:
            return error.name.split(".")[0]
        error = getattr(error, "failures", [error])[0]  # of several examples in a docstring
        example = isinstance(error, doctest.UnexpectedException)
        error = error.exc_info[1] if example else error.__cause__ or error.__context__
    return None


def _skip_where_missing(report, call, path):
    """Where only the extra test is installed, what needs more is skipped; `make test` installs all."""
    library = _missing(call.excinfo.value) if call.excinfo is not None else None
    if library is not None and report.outcome == "failed":
        report.outcome, report.longrepr = "skipped", (str(path), 0, f"Skipped: {library} is not installed")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    call = getattr(report, "call", None)
    return _skip_where_missing(report, call, collector.path) if call is not None else report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return _skip_where_missing(report, call, item.path)
