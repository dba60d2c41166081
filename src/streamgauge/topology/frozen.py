"""Immutable, hashable mappings for frozen dataclasses."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(Mapping[K, V], Generic[K, V]):
    """A mapping that keeps its order, cannot be changed, and pickles.

    ``types.MappingProxyType`` is neither hashable nor picklable, and frozen values must be both:
    plans are dictionary keys and travel to other processes.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        self._items: dict[K, V] = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    # The dictionary's own views: Mapping's go through `__getitem__` for every entry.
    def keys(self) -> KeysView[K]:
        """The keys, in order."""
        return self._items.keys()

    def values(self) -> ValuesView[V]:
        """The values, in order."""
        return self._items.values()

    def items(self) -> ItemsView[K, V]:
        """Keys with values, in order."""
        return self._items.items()

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return FrozenDict, (self._items,)


def freeze(owner: object, *names: str) -> None:
    """Give a frozen dataclass mappings and tuples of its own in place of what it was made with."""
    for name in names:
        value = getattr(owner, name)
        if value is not None:
            frozen = FrozenDict(value) if isinstance(value, Mapping) else tuple(value)
            object.__setattr__(owner, name, frozen)
