"""The two sums in which sequence learners spend their time, eight tags at a time.

`add_features` sums the weights of a token's features for every tag, and `best_previous` maximises over the previous
tag. The rows of weights are padded to a multiple of eight tags, and up to four vectors of eight floats stay in
registers: a plain loop over tags would test for overlapping arrays and go through memory at each feature. Every
operation is rounded as written, so that the plain bodies, which run with compilation off, give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from rosenblatt.compiled.machine_code import intrinsic_of
from rosenblatt.formats.declared_fields import must

Array = np.ndarray[Any, Any]
LANES, GROUP = 8, 4  # floats in a vector, and vectors at a time


def padded(tags: int) -> int:
    """The width of a row of weights for this many tags."""
    return -(-tags // LANES) * LANES


def check_rows(slots: Array, rows: Array, tags: int) -> None:
    """Refuse weights that `add_features` cannot take: padded rows, of which the first is that of unknown features."""
    must(rows.shape[1] == padded(tags), f"rows of {padded(tags)} weights")
    must(slots[-1] == 0 and not rows[0].any(), "no weights of unknown features")


def add_features(columns: Array, values: Array, begin: Any, end: Any, slots: Array, W: Array, out: Array) -> None:
    """out_k = Σ_j x_j W[slot of column j, k] over the stored features begin … end; `values` is empty if all are 1."""
    out[:] = 0
    for j in range(int(begin), int(end)):
        row = W[slots[columns[j]]]
        out += row if values.size == 0 else values[j] * row


def best_previous(before: Array, moves: Array, tags: Any, emissions: Array, out: Array) -> None:
    """out_k = max_j (before_j + moves_jk) + emissions_k over the tags j."""
    out[:] = (before[:tags, None] + moves[:tags]).max(axis=0) + emissions


# -- the same in LLVM's vectors ---------------------------------------------------------------------------------------


class _Lanes:
    """Vectors of eight floats in the code that is being built."""

    def __init__(self, context: Any, builder: Any) -> None:  # pragma: no cover
        from llvmlite import ir

        self.context, self.builder = context, builder
        self.kind, self.word = ir.VectorType(ir.FloatType(), LANES), ir.IntType(64)
        self.zero = ir.Constant(self.kind, [0.0] * LANES)
        self.undefined, self.first = ir.Constant(self.kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        self.everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

    def data(self, kind: Any, array: Any) -> Any:  # pragma: no cover
        return self.context.make_array(kind)(self.context, self.builder, array).data

    def number(self, value: int) -> Any:  # pragma: no cover
        return self.word(value)

    def load(self, data: Any, at: Any) -> Any:  # pragma: no cover
        place = self.builder.bitcast(self.builder.gep(data, [at]), self.kind.as_pointer())
        return self.builder.load(place, align=4)

    def store(self, value: Any, data: Any, at: Any) -> None:  # pragma: no cover
        place = self.builder.bitcast(self.builder.gep(data, [at]), self.kind.as_pointer())
        self.builder.store(value, place, align=4)

    def spread(self, scalar: Any) -> Any:  # pragma: no cover
        one = self.builder.insert_element(self.undefined, scalar, self.first)
        return self.builder.shuffle_vector(one, self.undefined, self.everywhere)

    def range(self, begin: Any, end: Any, step: int) -> Any:  # pragma: no cover
        from numba.core import cgutils

        return cgutils.for_range_slice(self.builder, begin, end, self.number(step), inc=True)

    def variables(self, count: int) -> list[Any]:  # pragma: no cover
        from numba.core import cgutils

        return [cgutils.alloca_once(self.builder, self.kind) for _ in range(count)]  # type: ignore[no-untyped-call]

    def in_groups(self, width: Any, body: Callable[[list[Any]], None]) -> None:  # pragma: no cover
        """Build `body` for the places of up to four vectors at a time, so that each feature is read once for all."""
        builder, whole = self.builder, self.builder.and_(width, self.number(-GROUP * LANES))
        with self.range(self.number(0), whole, GROUP * LANES) as (k, _):
            body([builder.add(k, self.number(LANES * place)) for place in range(GROUP)])
        rest = builder.sub(width, whole)
        for count in range(1, GROUP):
            with builder.if_then(builder.icmp_signed("==", rest, self.number(LANES * count))):
                body([builder.add(whole, self.number(LANES * place)) for place in range(count)])


def _features_kernel(scaled: bool) -> Any:
    @intrinsic
    def kernel(
        _: Any, columns: Any, values: Any, begin: Any, end: Any, slots: Any, W: Any, out: Any
    ) -> Any:  # pragma: no cover
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lanes = _Lanes(context, builder)
            kinds = signature.args
            column, x, slot, w, y = (lanes.data(kinds[at], args[at]) for at in (0, 1, 4, 5, 6))
            width = builder.extract_value(context.make_array(W)(context, builder, args[5]).shape, 1)
            totals = lanes.variables(GROUP)

            def body(places: list[Any]) -> None:
                for total in totals[: len(places)]:
                    builder.store(lanes.zero, total)
                with lanes.range(args[2], args[3], 1) as (j, _):
                    feature = builder.zext(builder.load(builder.gep(column, [j])), lanes.word)
                    row = builder.mul(builder.zext(builder.load(builder.gep(slot, [feature])), lanes.word), width)
                    value = lanes.spread(builder.load(builder.gep(x, [j]))) if scaled else None
                    for k, total in zip(places, totals, strict=False):
                        weights = lanes.load(w, builder.add(row, k))
                        weights = weights if value is None else builder.fmul(value, weights)
                        builder.store(builder.fadd(builder.load(total), weights), total)
                for k, total in zip(places, totals, strict=False):
                    lanes.store(builder.load(total), y, k)

            lanes.in_groups(width, body)
            return context.get_dummy_value()

        return types.void(columns, values, types.uint64, types.uint64, slots, W, out), emit

    return kernel


_plain_features, _scaled_features = _features_kernel(False), _features_kernel(True)


@intrinsic_of(best_previous)
def _best_previous(_: Any, before: Any, moves: Any, tags: Any, emissions: Any, out: Any) -> Any:  # pragma: no cover
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        lanes = _Lanes(context, builder)
        kinds = signature.args
        previous, move, emitted, y = (lanes.data(kinds[at], args[at]) for at in (0, 1, 3, 4))
        width = builder.extract_value(context.make_array(moves)(context, builder, args[1]).shape, 1)
        mosts = lanes.variables(GROUP)

        def body(places: list[Any]) -> None:
            first = lanes.spread(builder.load(previous))
            for k, most in zip(places, mosts, strict=False):
                builder.store(builder.fadd(first, lanes.load(move, k)), most)
            with lanes.range(lanes.number(1), args[2], 1) as (j, _):
                score, row = lanes.spread(builder.load(builder.gep(previous, [j]))), builder.mul(j, width)
                for k, most in zip(places, mosts, strict=False):
                    new, best = builder.fadd(score, lanes.load(move, builder.add(row, k))), builder.load(most)
                    builder.store(builder.select(builder.fcmp_ordered(">", new, best), new, best), most)
            for k, most in zip(places, mosts, strict=False):
                lanes.store(builder.fadd(builder.load(most), lanes.load(emitted, k)), y, k)

        lanes.in_groups(width, body)
        return context.get_dummy_value()

    return types.void(before, moves, types.int64, emissions, out), emit


@overload(add_features, strict=False)
def _add_features_compiled(
    columns: Any, values: Any, begin: Any, end: Any, slots: Any, W: Any, out: Any
) -> Any:  # pragma: no cover
    def body(columns: Any, values: Any, begin: Any, end: Any, slots: Any, W: Any, out: Any) -> None:
        if values.size == 0:
            _plain_features(columns, values, begin, end, slots, W, out)
        else:
            _scaled_features(columns, values, begin, end, slots, W, out)

    return body
