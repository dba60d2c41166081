"""Java's hash codes, so that a key goes to the same task as in the engine.

Storm's fields grouping takes task index = floorMod(Arrays.deepHashCode(key values), tasks).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

KeyValue = str | int | float | bool | None

_INT_BITS = 32
_JAVA_NAN = 0x7FF8000000000000
_JAVA_TRUE, _JAVA_FALSE = 1231, 1237


def java_hash(value: KeyValue) -> int:
    """``hashCode`` of the Java value a key field holds, as a signed 32-bit number.

    Python's ints become Integer or, where they do not fit, Long (both have the same hash for small
    non-negative numbers); floats become Double; None is null.
    """
    if value is None:
        return 0
    if isinstance(value, bool):
        return _JAVA_TRUE if value else _JAVA_FALSE
    if isinstance(value, int):
        return value if -(2**31) <= value < 2**31 else _fold_long(value)
    if isinstance(value, float):
        # Java has one NaN where IEEE 754 has many.
        return _fold_long(_JAVA_NAN if math.isnan(value) else _double_bits(value))
    return _string_hash(value)


def deep_hash(values: Sequence[KeyValue]) -> int:
    """``Arrays.deepHashCode`` of the key fields: 31·h + hash, starting from 1."""
    result = 1
    for value in values:
        result = 31 * result + java_hash(value)
    return _signed(result, _INT_BITS)


def task_index(values: Sequence[KeyValue], tasks: int) -> int:
    """Which of `tasks` tasks receives the key; depends on tasks only, never on executors."""
    return deep_hash(values) % tasks


def two_choices(values: Sequence[KeyValue], tasks: int) -> tuple[int, int]:
    """The two tasks between which Storm's partial key grouping chooses for a key.

    A `java.util.Random`, seeded with the hash of the key's bytes, draws both; where both are equal,
    the second becomes the next task.
    """
    random = _JavaRandom(_bytes_hash(values))
    first, second = random.next_int(tasks), random.next_int(tasks)
    return first, (second + 1) % tasks if second == first else second


class _JavaRandom:
    """`java.util.Random`: the linear congruence that its documentation fixes."""

    def __init__(self, seed: int) -> None:
        self._seed = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)

    def _next(self, bits: int) -> int:
        self._seed = (self._seed * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        return _signed(self._seed >> (48 - bits), _INT_BITS)

    def next_int(self, bound: int) -> int:
        """A number from 0 to `bound` − 1, as `nextInt(bound)` draws it."""
        bits = self._next(31)
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        value = bits % bound
        while bits - value + (bound - 1) >= 1 << 31:
            bits = self._next(31)
            value = bits % bound
        return value


def _bytes_hash(values: Sequence[KeyValue]) -> int:
    """``Arrays.hashCode`` of the bytes that stand for a key: the hashes of its fields."""
    result = 1
    for byte in b"".join(struct.pack(">i", java_hash(value)) for value in values):
        result = 31 * result + (byte - 256 if byte > 127 else byte)
    return _signed(result, _INT_BITS)


def _string_hash(text: str) -> int:
    result = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")):
        result = (31 * result + unit) & 0xFFFFFFFF
    return _signed(result, _INT_BITS)


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value), "big")


def _fold_long(value: int) -> int:
    bits = value & 0xFFFFFFFFFFFFFFFF
    return _signed((bits ^ (bits >> _INT_BITS)) & 0xFFFFFFFF, _INT_BITS)


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
