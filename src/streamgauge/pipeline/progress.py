"""How far Spark has come, by its own stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

SECONDS_BETWEEN = 0.2

# Told tasks done and tasks in all of the stages that run now.
Show = Callable[[int, int], None]


@contextmanager
def watched(spark: SparkSession, show: Show | None) -> Iterator[None]:
    """While this lasts, `show` is told of the tasks that run; nothing where nobody looks."""
    if show is None:
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, show, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(spark: SparkSession, show: Show, done: threading.Event) -> None:
    tracker = spark.sparkContext.statusTracker()
    while not done.wait(SECONDS_BETWEEN):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        if known:
            show(
                sum(stage.numCompletedTasks for stage in known),
                sum(stage.numTasks for stage in known),
            )
