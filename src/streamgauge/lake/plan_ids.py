"""What a plan is called: one rule for all that write plans, whatever they know of a job.

Whoever looks at a running topology sees who runs where, from inside as from outside. Not all see
its settings, or the fields of its groupings, so these are no part of the name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from streamgauge.lake.records import PlacedExecutor
from streamgauge.topology.logical_plan import Executor

_LENGTH = 12


def plan_id_of(executors: Iterable[PlacedExecutor]) -> str:
    """The first digits of the SHA-256 of the lines ``EXECUTOR NODE:PORT``, by first task.

    The agent in Java follows the same rule.
    """
    digest = hashlib.sha256()
    for one in sorted(executors, key=lambda one: one.first_task):
        executor = Executor(
            operator=one.component, first_task=one.first_task, last_task=one.last_task
        )
        digest.update(f"{executor.label} {one.worker}\n".encode())
    return digest.hexdigest()[:_LENGTH]
