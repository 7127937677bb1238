"""Exports linear models as ONNX, for other runtimes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rosenblatt._version import __version__
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.safe_writing import replace_atomically
from rosenblatt.learn.models import Planes
from rosenblatt.learn.schemes import PAIRS
from rosenblatt.registry import family
from rosenblatt.shell.fitted import check_whole, fitted

OPSET, IR, PRODUCER = 17, 8, "rosenblatt"


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a linear model as ONNX.

    The input of the graph is `X`, rows of the type that the model was trained on; its outputs are `scores`, as from
    `decision_function` (`predict` for regression), and for classifiers `label`.

    Parameters
    ----------
    model : fitted estimator of rosenblatt with `coef_`
        One-vs-one and voted models, multilabel models, and the Mark I are refused.
    path : path
        The file to write.

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> model = rosenblatt.Perceptron().fit([[0.0], [1.0], [3.0]], ["no", "no", "yes"])
    >>> path = pathlib.Path(tempfile.mkdtemp(), "small.onnx")
    >>> rosenblatt.export_onnx(model, path)
    >>> path.exists()
    True
    """
    try:
        import onnx
    except ImportError as error:
        raise FileError("writing ONNX needs onnx: pip install 'rosenblatt[onnx]'", path) from error
    graph = _graph(onnx, model, path)
    made = onnx.helper.make_model(
        graph,
        producer_name=PRODUCER,
        producer_version=__version__,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR,
    )
    onnx.checker.check_model(made)
    with replace_atomically(path, follow=True) as file:
        file.write(made.SerializeToString())


def is_export(path: str | os.PathLike[str]) -> bool:
    """Whether the file begins like one that `export_onnx` wrote: the IR version and the producer."""
    producer = b"\x12" + bytes([len(PRODUCER)]) + PRODUCER.encode()  # field 2 of ONNX's ModelProto
    try:
        with open(path, "rb") as file:
            return file.read(2 + len(producer))[2:] == producer
    except OSError:
        return False


def _graph(onnx: Any, model: Any, path: Any) -> Any:
    helper, tensor = onnx.helper, onnx.numpy_helper.from_array
    coef, classes = getattr(model, "coef_", None), getattr(model, "classes_", None)
    if family(model) == "tables":
        raise FileError(
            f"{type(model).__name__} has no ONNX form: it encodes columns before its learner sees them. A linear "
            "learner of the rows that encoder_.transform gives has one",
            path,
        )
    if coef is None:
        raise FileError(f"only fitted linear models have an ONNX form, and {type(model).__name__} has no coef_", path)
    if "wiring_" in vars(model):
        raise FileError(
            f"{type(model).__name__} has no ONNX form: its units compare sums with thresholds that are such sums "
            "themselves, and a runtime that adds in another order would predict differently",
            path,
        )
    try:
        check_whole(model)
    except Exception as error:
        raise FileError(
            f"this {type(model).__name__} is not in a state that `fit` can produce: {error}", path
        ) from error
    coef = np.atleast_2d(coef)
    held = fitted(model)
    if held.by_labels or (isinstance(held.model, Planes) and held.model.scheme == PAIRS):
        raise FileError("one-vs-one and multilabel models have no ONNX form here: train multinomial or ovr", path)
    dtype = coef.dtype
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    given = helper.make_tensor_value_info("X", kind, [None, coef.shape[1]])
    constants = [tensor(np.ascontiguousarray(coef.T), "W"), tensor(np.atleast_1d(model.intercept_).astype(dtype), "b")]
    nodes = [helper.make_node("MatMul", ["X", "W"], ["Wx"]), helper.make_node("Add", ["Wx", "b"], ["planes"])]
    single = coef.shape[0] == 1
    if single:
        constants.append(tensor(np.array([-1]), "flat"))
        nodes.append(helper.make_node("Reshape", ["planes", "flat"], ["scores"]))
    else:
        nodes.append(helper.make_node("Identity", ["planes"], ["scores"]))
    out = [helper.make_tensor_value_info("scores", kind, [None] if single else [None, coef.shape[0]])]
    if classes is not None:
        names = _names(classes, path)
        constants.append(tensor(names, "classes"))
        if single:  # the tie rule: the positive class if f > 0
            constants.append(tensor(np.zeros(1, dtype), "zero"))
            nodes.append(helper.make_node("Greater", ["scores", "zero"], ["positive"]))
            nodes.append(helper.make_node("Cast", ["positive"], ["code"], to=onnx.TensorProto.INT64))
        else:
            nodes.append(helper.make_node("ArgMax", ["scores"], ["code"], axis=1, keepdims=0))
        nodes.append(helper.make_node("Gather", ["classes", "code"], ["label"]))
        out.insert(0, helper.make_tensor_value_info("label", _kind_of_label(onnx, names), [None]))
    return helper.make_graph(nodes, type(model).__name__, [given], out, constants)


def _names(classes: Any, path: Any) -> Any:
    if classes.dtype.kind == "S":
        return np.array([one.decode() for one in classes.tolist()], dtype=object)
    if classes.dtype.kind == "U" or (classes.dtype.kind == "O" and all(isinstance(one, str) for one in classes)):
        return np.array([str(one) for one in classes], dtype=object)
    if classes.dtype.kind in "biuf":
        return classes.astype(np.float64 if classes.dtype.kind == "f" else np.int64)
    raise FileError(f"classes of {classes.dtype} have no ONNX form", path)


def _kind_of_label(onnx: Any, names: Any) -> int:
    kinds = onnx.TensorProto
    return int({"O": kinds.STRING, "f": kinds.DOUBLE, "i": kinds.INT64}[names.dtype.kind])
