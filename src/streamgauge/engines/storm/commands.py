"""Commands that change what runs on a Storm cluster, word by word."""

from __future__ import annotations

from collections.abc import Mapping


def rebalance_command(
    topology: str, *, executors: Mapping[str, int], workers: int | None = None
) -> tuple[str, ...]:
    """The command of Storm that gives a running topology other workers and executors."""
    words = ["storm", "rebalance", topology]
    if workers is not None:
        words += ["-n", str(workers)]
    for name, count in executors.items():
        words += ["-e", f"{name}={count}"]
    return tuple(words)


def apply_command(plan_file: str) -> tuple[str, ...]:
    """Our command that applies a plan's file to the running topology."""
    return ("streamgauge", "storm", "apply", plan_file)
