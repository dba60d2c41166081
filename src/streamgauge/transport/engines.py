"""Which engines' transports are known, by the name a configuration gives."""

from __future__ import annotations

from streamgauge.errors import InvalidInput, did_you_mean
from streamgauge.topology.tuple_flow import Hops
from streamgauge.transport import storm1, storm2

ENGINES: dict[str, Hops] = {"storm-1": storm1.HOPS, "storm-2": storm2.HOPS}


def hops_of(engine: str) -> Hops:
    """What a tuple meets on that engine, or InvalidInput with the known names."""
    if engine not in ENGINES:
        raise InvalidInput.single(
            ("configuration", "engine"),
            seen=f"engine {engine!r}",
            expected=f"one of {', '.join(ENGINES)}",
            remedy=did_you_mean(engine, list(ENGINES)),
        )
    return ENGINES[engine]
