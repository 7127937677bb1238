"""Checks of trees of classes and of networks: see `state_checks`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.estimators.base.state_checks import (
    check_planes,
    check_scheme,
    class_count,
    is_array,
    is_count,
    is_number,
    must,
)
from rosenblatt.learn.counters import check_tally
from rosenblatt.learn.models import Planes
from rosenblatt.learn.network.backpropagation import ACTIVATIONS, Architecture, Layer, NetworkModel, NetworkState
from rosenblatt.learn.online.hierarchy import Tree, TreeState
from rosenblatt.learn.report import Report


def check_tree_model(model: Any) -> None:
    """Planes of classes, and the nodes of the tree that they are summed from."""
    kept, classes, d = model._kept, class_count(model), model.n_features_in_
    must(isinstance(kept, Planes) and not model._by_labels, "planes")
    must(np.array_equal(np.unique(model.classes_), model.classes_), "sorted classes, which labels are looked up in")
    check_scheme(kept, classes, False)
    K = 1 if classes <= 2 else classes
    check_planes(kept.coef, kept.intercept, K, d)
    check_planes(np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_), K, d, "fiu")
    if "distances_" in vars(model):
        must(is_array(model.distances_, (classes, classes), "iuf"), "the distances of all classes")
    if "_state" not in vars(model):
        return
    state = model._state
    must(
        isinstance(state, TreeState) and isinstance(state.tree, Tree) and isinstance(state.by_feature, bool), "a state"
    )
    must(is_count(state.epoch) and is_count(state.seed), "an epoch and a seed")
    on, V = state.tree.on, state.intercept.size
    must(is_array(on, (classes, V), "u") and on.dtype == np.uint8, "a path for each class")
    must(on.max(initial=0) <= 1 and len(np.unique(on, axis=0)) == classes, "a path of its own for each class")
    shape = (d, V) if state.by_feature else (V, d)
    must(is_array(state.coef, shape) and is_array(state.intercept, (V,)), f"weights of shape {shape}")
    must(state.coef.dtype == state.intercept.dtype and state.dtype.name in ("float32", "float64"), "one dtype")
    average = state.total_b.size > 0
    must(is_array(state.total, shape if average else (0, 0)), "sums of an average")
    must(is_array(state.total_b, (V if average else 0,)), "sums of an average")
    must(state.total.dtype == state.total_b.dtype == np.float64, "sums of float64")
    check_tally(state.tally)


def check_network(model: Any) -> None:
    """The weights of all layers."""
    kept = model._kept
    must(isinstance(kept, NetworkModel) and not model._by_labels, "a network")
    _check_net(kept.net, kept.flat, model.n_features_in_, class_count(model))
    if "_state" not in vars(model):
        return
    state = model._state
    must(isinstance(state, NetworkState) and state.net == kept.net, "a state")
    must(is_count(state.epoch) and is_count(state.steps) and is_count(state.seed), "epochs, steps and a seed")
    records = model.report_.epochs if isinstance(vars(model).get("report_"), Report) else ()
    must(state.epoch <= len(records), "a record of each epoch")
    for array in (state.flat, state.first, state.second):
        must(is_array(array, kept.flat.shape) and array.dtype == kept.flat.dtype, "as many numbers as weights")


def _check_net(net: Any, flat: Any, d: int, classes: int) -> None:
    must(isinstance(net, Architecture) and net.inputs == d and is_number(net.alpha), f"a network of {d} inputs")
    must(isinstance(net.layers, tuple) and net.layers, "layers")
    for layer in net.layers:
        must(isinstance(layer, Layer) and ACTIVATIONS[layer.activation].slope is not None, "layers that were trained")
        must(all(isinstance(v, bool) for v in (layer.bias, layer.nonnegative, layer.gain_control)), "layers")
    last = {"cross-entropy": "identity", "squared": "logistic"}.get(net.loss)
    must(net.layers[-1].units == classes and net.layers[-1].activation == last, "an answer for each class")
    must(is_array(flat, (net.size,)) and flat.dtype.name in ("float32", "float64"), f"{net.size} weights")
