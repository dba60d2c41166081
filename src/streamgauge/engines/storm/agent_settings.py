"""What a topology's configuration needs for our agent to measure it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

REPORTER = "io.streamgauge.storm.agent.AgentReporter"
HOOK = "io.streamgauge.storm.agent.AgentHook"


def agent_settings(
    *, folder: Path | None = None, bucket_seconds: float | None = None
) -> dict[str, Any]:
    """The two settings that bring the agent, and where and how it writes, if it is told.

    Args:
        folder: For its files; a folder beside each worker's log unless given.
        bucket_seconds: Time that one sample spans; the agent's own choice unless given.
    """
    reporter: dict[str, Any] = {"class": REPORTER}
    if folder is not None:
        reporter["streamgauge.agent.dir"] = str(folder)
    if bucket_seconds is not None:
        reporter["streamgauge.agent.bucket.seconds"] = bucket_seconds
    return {"topology.metrics.reporters": [reporter], "topology.auto.task.hooks": [HOOK]}
