"""Decimal text to doubles, correctly rounded.

A decimal number is m·10^e with an integer m. If m < 2⁵³ and |e| ≤ 22, both m and 10^|e| are exact doubles, and a single
multiplication or division rounds correctly (Clinger 1990). Otherwise m is multiplied by a 128-bit approximation of
10^e, which determines the rounding except in rare cases (Lemire 2021, the algorithm of Eisel and Lemire). Those, and
numbers with more than 19 digits, are returned as `NEEDS_PYTHON` and left to Python's `float`.

References: W. Clinger, "How to read floating point numbers accurately", 1990. D. Lemire, "Number parsing at a gigabyte
per second", Software: Practice and Experience 51, 2021.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from rosenblatt.compiled.machine_code import exactly, intrinsic_of

Array = np.ndarray[Any, Any]
PARSED, MALFORMED, NEEDS_PYTHON = range(3)
MAX_EXPONENT = 300  # numbers with a larger |e| are left to Python
PADDING = 8  # bytes that may be read beyond the end
MAX_DIGITS = 19  # the most decimal digits that always fit into 64 bits

U0, U1, U3, U9, U32, U63 = (np.uint64(k) for k in (0, 1, 3, 9, 32, 63))
LOW_HALF = np.uint64(0xFFFFFFFF)
ALL_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW_NINE_BITS = np.uint64(0x1FF)
TWO_TO_53 = np.uint64(1 << 53)
FRACTION_BITS = np.uint64((1 << 52) - 1)
SIGN_BIT = np.uint64(1 << 63)


def _powers() -> tuple[Array, Array]:
    """The leading 128 bits of 10^e, e = −300 … 300, rounded down, as low and high halves."""
    wide = []
    for e in range(-MAX_EXPONENT, MAX_EXPONENT + 1):
        if e >= 0:
            power = 10**e
            wide.append(power << 128 >> power.bit_length())
        else:
            power = 10**-e
            wide.append((1 << (127 + power.bit_length())) // power)
    low = np.array([one & (2**64 - 1) for one in wide], dtype=np.uint64)
    return low, np.array([one >> 64 for one in wide], dtype=np.uint64)


TENS_LOW, TENS_HIGH = _powers()
TENS = np.array([10.0**e for e in range(23)])
INTEGER_TENS = np.array([10**e for e in range(9)], dtype=np.uint64)


# -- eight digits at once --------------------------------------------------------------------------------------------


def eight_digits(data: Array, at: int) -> Any:
    """The number of digits, at most eight, that start at data[at], and their value."""
    count, value = 0, 0
    while count < 8 and 48 <= data[at + count] <= 57:
        value = value * 10 + int(data[at + count]) - 48
        count += 1
    return count, value


@intrinsic_of(eight_digits)
def _eight_digits(_: Any, data: Any, at: Any) -> Any:  # pragma: no cover
    """Eight bytes at a time.

    They are loaded as one integer x. x ^ 0x30… has 0 to 9 in the bytes that are digits; the first other byte
    is the lowest with its high bit set after adding 0x76…. The digits are shifted to the top and combined in pairs,
    fours and eights.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i64, byte = ir.IntType(64), ir.IntType(8).as_pointer()
        array = context.make_array(data)(context, builder, args[0])
        place = builder.gep(builder.bitcast(array.data, byte), [args[1]])
        x = builder.load(builder.bitcast(place, i64.as_pointer()), align=1)
        d = builder.xor(x, i64(0x3030303030303030))
        other = builder.or_(builder.add(d, i64(0x7676767676767676)), d)
        other = builder.and_(other, i64(0x8080808080808080))
        shape = ir.FunctionType(i64, [i64, ir.IntType(1)])
        count_zeros = builder.module.declare_intrinsic("llvm.cttz", [i64], shape)
        bits = builder.and_(builder.call(count_zeros, [other, ir.IntType(1)(0)]), i64(0x78))  # 8 · digits
        none = builder.icmp_unsigned("==", bits, i64(0))
        shift = builder.select(none, i64(0), builder.sub(i64(64), bits))
        d = builder.shl(d, shift)
        d = builder.add(builder.mul(d, i64(10)), builder.lshr(d, i64(8)))
        low, high = builder.and_(d, i64(0xFF000000FF)), builder.and_(builder.lshr(d, i64(16)), i64(0xFF000000FF))
        total = builder.add(builder.mul(low, i64(0xF424000000064)), builder.mul(high, i64(0x271000000001)))
        value = builder.select(none, i64(0), builder.lshr(total, i64(32)))
        return context.make_tuple(builder, signature.return_type, [builder.lshr(bits, i64(3)), value])

    return types.UniTuple(types.int64, 2)(data, types.int64), emit  # type: ignore[no-untyped-call]


def double_from_bits(bits: Any) -> Any:
    """The double with these bits."""
    return np.uint64(bits).view(np.float64)


@intrinsic_of(double_from_bits)
def _double_from_bits(_: Any, bits: Any) -> Any:  # pragma: no cover
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), emit


# -- rounding --------------------------------------------------------------------------------------------------------


@exactly
def _full_product(a: Any, b: Any) -> Any:
    """The high and the low half of a·b."""
    a1, a0, b1, b0 = a >> U32, a & LOW_HALF, b >> U32, b & LOW_HALF
    low, cross, other = a0 * b0, a0 * b1, a1 * b0
    middle = (low >> U32) + (cross & LOW_HALF) + (other & LOW_HALF)
    return a1 * b1 + (cross >> U32) + (other >> U32) + (middle >> U32), (low & LOW_HALF) | (middle << U32)


@exactly
def _leading_zeros(m: Any) -> Any:
    count = U0
    for shift in (np.uint64(32), np.uint64(16), np.uint64(8), np.uint64(4), np.uint64(2), np.uint64(1)):
        if m >> (np.uint64(64) - shift) == U0:
            m = m << shift
            count += shift
    return count


@exactly
def _nearest_double(m: Any, e: Any) -> Any:
    """The bits of the double nearest to m·10^e, m > 0, and whether they are certain to be right."""
    shift = _leading_zeros(m)
    m = m << shift
    power = np.int64((217706 * e) >> 16) + 64 + 1023 - np.int64(shift)
    high, low = _full_product(m, TENS_HIGH[e + MAX_EXPONENT])
    if high & LOW_NINE_BITS == LOW_NINE_BITS and low > ALL_ONES - m:
        more, rest = _full_product(m, TENS_LOW[e + MAX_EXPONENT])
        carry = low > ALL_ONES - more
        low = low - (ALL_ONES - more) - U1 if carry else low + more
        if carry:
            high += U1
        if high & LOW_NINE_BITS == LOW_NINE_BITS and low == ALL_ONES and rest > ALL_ONES - m:
            return U0, False
    top = high >> U63
    fraction = high >> (top + U9)
    power -= np.int64(U1 ^ top)
    if low == U0 and high & LOW_NINE_BITS == U0 and fraction & U3 == U1:
        return U0, False
    fraction = (fraction + (fraction & U1)) >> U1
    if fraction >= TWO_TO_53:
        fraction >>= U1
        power += 1
    if power < 1 or power >= 0x7FF:
        return U0, False
    return (np.uint64(power) << np.uint64(52)) | (fraction & FRACTION_BITS), True


@exactly
def parse_number(data: Array, at: int) -> Any:
    """The number that starts at data[at], where it ends, and PARSED, MALFORMED or NEEDS_PYTHON.

    The data must end with a byte that cannot be part of a number, followed by `PADDING` bytes.
    """
    c = data[at]
    negative = c == 45
    if negative or c == 43:
        at += 1
        c = data[at]
    m, e, seen, count = U0, np.int64(0), np.int64(0), np.int64(8)
    if data[at + 1] == 46 and 48 <= c <= 57:  # the common case of one digit before the point
        m, seen, count = np.uint64(c - 48), np.int64(1), np.int64(0)
        at += 1
    while count == 8:
        count, value = eight_digits(data, at)
        if seen + count <= MAX_DIGITS:
            m = m * INTEGER_TENS[count] + np.uint64(value)
        seen += count
        at += count
    if data[at] == 46:
        at += 1
        count = np.int64(8)
        while count == 8:
            count, value = eight_digits(data, at)
            if seen + count <= MAX_DIGITS:
                m = m * INTEGER_TENS[count] + np.uint64(value)
            seen += count
            e -= count
            at += count
    c = data[at]
    if seen == 0:
        return 0.0, at, MALFORMED
    if c == 101 or c == 69:
        at += 1
        c = data[at]
        below = c == 45
        if below or c == 43:
            at += 1
            c = data[at]
        count, power = eight_digits(data, at)
        if count == 0:
            return 0.0, at, MALFORMED
        at += count
        while 48 <= data[at] <= 57:
            at += 1
            power = np.int64(99999)
        e += -power if below else power
    if seen > MAX_DIGITS:
        return 0.0, at, NEEDS_PYTHON
    if m < TWO_TO_53 and -22 <= e <= 22:
        exact = np.float64(m)
        exact = exact / TENS[-e] if e < 0 else exact * TENS[e]
        return -exact if negative else exact, at, PARSED
    if m == U0:
        return -0.0 if negative else 0.0, at, PARSED
    if -MAX_EXPONENT <= e <= MAX_EXPONENT:
        bits, certain = _nearest_double(m, e)
        if certain:
            return double_from_bits(bits | SIGN_BIT if negative else bits), at, PARSED
    return 0.0, at, NEEDS_PYTHON
