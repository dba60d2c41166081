"""Rows in the order of their table, and hashes of their keys, by numpy."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.lake.schemas import Table

_WORD_BITS = 63


def sorted_rows(rows: pa.Table, table: Table) -> pa.Table:
    """Rows in the order of the table and of the rest of its key, what is missing first."""
    columns = [*table.order, *(name for name in table.key if name not in table.order)]
    words: list[NDArray[np.int64]] = []
    left = 0
    for ranks in (_ranks(rows[name]) for name in columns):
        bits = int(ranks.max(initial=0)).bit_length()
        if not bits:
            continue
        if bits > left:
            words.append(ranks)
            left = _WORD_BITS - bits
        else:
            words[-1] = (words[-1] << bits) | ranks
            left -= bits
    if not words:
        return rows
    order = np.argsort(words[0], kind="stable") if len(words) == 1 else np.lexsort(words[::-1])
    return rows.take(pa.array(order))


def _ranks(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Numbers from zero that are in the order of the values, nulls first."""
    whole = column.combine_chunks()
    if not pa.types.is_string(whole.type) and not pa.types.is_dictionary(whole.type):
        numbers = whole.cast(pa.int64())
        least = pc.min(numbers).as_py()
        if least is None:
            return np.zeros(len(whole), dtype=np.int64)
        shifted = pc.add(pc.subtract(numbers, least), 1)
        return np.asarray(pc.fill_null(shifted, 0))
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    rank = np.zeros(len(names) + 1, dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(1, len(names) + 1)
    places = np.asarray(pc.fill_null(encoded.indices, len(names)))
    return np.asarray(rank[places])


_MISSING = np.uint64(0x9E3779B97F4A7C15)


def key_hashes(rows: pa.Table, table: Table) -> NDArray[np.int64]:
    """A hash of the natural key of every row; equal keys have equal ones, in every process."""
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for name in table.key:
        hashes = _mixed(hashes * np.uint64(31) + _column_hashes(rows[name]))
    return hashes.view(np.int64)


def _column_hashes(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    whole = column.combine_chunks()
    if not pa.types.is_string(whole.type) and not pa.types.is_dictionary(whole.type):
        numbers = pc.fill_null(whole.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        return np.where(
            whole.is_valid().to_numpy(zero_copy_only=False),
            _mixed(numbers.view(np.uint64)),
            _MISSING,
        )
    encoded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    digests = b"".join(
        blake2b(name.encode(), digest_size=8).digest() for name in encoded.dictionary.to_pylist()
    )
    values = np.append(np.frombuffer(digests, dtype="<u8"), _MISSING)
    places = np.asarray(pc.fill_null(encoded.indices, len(values) - 1))
    return np.asarray(values[places])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit depends on every bit (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
