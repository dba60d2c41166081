"""Storm's groupings by the names that its Thrift interface gives them."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.topology.grouping import (
    All,
    Custom,
    Direct,
    Fields,
    Global,
    Grouping,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
)

# Stands for field names where a source does not give them.
UNKNOWN_FIELD = "unknown"
_PARTIAL_KEY = "org.apache.storm.grouping.PartialKeyGrouping"


def grouping_named(
    name: str, *, tasks: int, fields: Sequence[str] | None = None, class_name: str = ""
) -> Grouping:
    """The grouping of a name such as ``local_or_shuffle``.

    Args:
        name: As Storm has it, with hyphens or underscores.
        tasks: Of the operator that receives; a custom grouping is taken to be even over them.
        fields: That it is by, where they are known. None of them is Storm's way to say global.
        class_name: Of a custom grouping, where it is known.
    """
    kind = name.lower().replace("-", "_")
    if kind == "fields":
        if fields is not None and not fields:
            return Global()
        return Fields(keys=tuple(fields or (UNKNOWN_FIELD,)))
    plain: dict[str, Grouping] = {
        "shuffle": Shuffle(),
        "none": Shuffle(),
        "local_or_shuffle": LocalOrShuffle(),
        "all": All(),
        "global": Global(),
        "direct": Direct(),
    }
    if class_name == _PARTIAL_KEY:
        return PartialKey(keys=(UNKNOWN_FIELD,))
    return plain.get(kind) or Custom(matrix=((1.0 / tasks,) * tasks,))
