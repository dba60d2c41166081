"""A plan that nobody changes: what every policy is to be better than."""

from __future__ import annotations

from streamgauge.planning.sharing.observation import ClusterSeen
from streamgauge.planning.sharing.policy import Decision


class Static:
    """Never acts."""

    name = "static"
    period_seconds = 60.0

    def describe(self) -> str:
        """One sentence."""
        return "keeps the executors that jobs begin with"

    def decide(self, seen: ClusterSeen) -> Decision:
        """Nothing."""
        del seen
        return Decision(rule="wait")
