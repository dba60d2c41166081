"""``streamgauge collect storm``: metrics of a Storm cluster that has nothing of ours installed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.options import AsJson
from streamgauge.cli.output import print_document, say
from streamgauge.cli.progress import interrupted
from streamgauge.drawing.wording import count
from streamgauge.errors import InvalidInput, NotEnoughData

if TYPE_CHECKING:
    from streamgauge.engines.storm.collection.collector import Outcome
    from streamgauge.engines.storm.collection.snapshot import StormSource

MEBIBYTE = 2**20
MISSING = (
    "not measured from outside: how many tuples go from which task to which (shares follow from"
    " groupings), percentiles of service times, CPU time of threads and workers, bytes, queues, and"
    " times between nodes; predictions have wider errors, and cannot account for contention",
    "the engine samples counts, usually one tuple in twenty; the agent measures all of this"
    " (docs/agent.md)",
)


def collect_storm(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for raw metrics; created if missing.")
    ],
    nimbus: Annotated[
        str | None, typer.Option(help="HOST:PORT of nimbus, asked by Thrift; needs Java.")
    ] = None,
    ui: Annotated[str | None, typer.Option(help="URL of the UI, asked by REST.")] = None,
    topology: Annotated[
        list[str] | None, typer.Option(help="Only this topology; may be repeated.")
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds from one poll to the next.")] = 60.0,
    for_seconds: Annotated[
        float | None, typer.Option("--for", help="Seconds in all; until Ctrl-C when not given.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Poll once, and end.")] = False,
    give_up: Annotated[
        float, typer.Option(help="Seconds to keep trying when the cluster stops answering.")
    ] = 600.0,
    most_mib: Annotated[
        float, typer.Option(help="Most MiB of files; beyond that the oldest are deleted.", min=1.0)
    ] = 1024.0,
    cluster: Annotated[
        str | None, typer.Option(help="Name of the cluster, where several share a lake.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Poll a Storm cluster for structure, placement and counters, as raw metrics for `ingest`."""
    from streamgauge.engines.storm.collection.collector import Collector, PollSchedule, poll_on
    from streamgauge.engines.storm.collection.folder import CollectionFolder

    schedule = PollSchedule(
        every_seconds=every,
        for_seconds=0.0 if once else for_seconds,
        give_up_seconds=give_up,
    )
    with _source(nimbus, ui) as source:
        collector = Collector(
            source=source,
            clock=lambda: time.time_ns() // 1000,
            every_seconds=every,
            names=tuple(topology or ()),
            cluster=cluster,
        )
        names = collector.check()
        bound = round(most_mib * MEBIBYTE)
        with CollectionFolder(output, source=source.name, most_bytes=bound) as folder:
            memory = folder.remembered()
            if memory is None:
                say("warning: the state of an earlier run cannot be read; starting afresh")
            collector.memory = memory or {}
            say(f"collecting {', '.join(names) or 'every topology that starts'} from {source.name}")
            for line in MISSING:
                say(line)
            with interrupted(
                "stopping after this poll; press Ctrl-C again to stop at once"
            ) as stop:
                outcome = poll_on(collector, folder, schedule, stop, say=say)
    _present(outcome, output, as_json=as_json)


@contextmanager
def _source(nimbus: str | None, ui: str | None) -> Iterator[StormSource]:
    if (nimbus is None) == (ui is None):
        raise InvalidInput.single(
            ("nimbus",),
            seen="neither --nimbus nor --ui" if nimbus is None else "both --nimbus and --ui",
            expected="one of them",
            remedy="--nimbus HOST:6627, or --ui http://HOST:8080 where nimbus cannot be reached",
        )
    if nimbus is not None:
        from streamgauge.engines.storm.bridge import Bridge
        from streamgauge.engines.storm.collection.nimbus import NimbusSource

        with Bridge(*_host_and_port(nimbus)) as bridge:
            yield NimbusSource(bridge)
        return
    assert ui is not None
    from streamgauge.engines.storm.collection.ui import UiClient, UiSource
    from streamgauge.lake.http import Credentials

    yield UiSource(UiClient(ui, headers=Credentials.usual().header()))


def _host_and_port(address: str) -> tuple[str, int]:
    from streamgauge.topology.cluster import MAX_PORT

    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and 0 < int(port) <= MAX_PORT:
        return host.strip("[]"), int(port)
    raise InvalidInput.single(
        ("nimbus",), seen=repr(address), expected="HOST:PORT of nimbus, such as 10.0.0.5:6627"
    )


def _present(outcome: Outcome, output: Path, *, as_json: bool) -> None:
    """What was collected, as a document or a line."""
    if not outcome.topologies:
        raise NotEnoughData(
            "no topology has reported yet; expected one whose workers all sent a heartbeat: they"
            " do so a minute after they start"
        )
    names = sorted(outcome.topologies)
    if as_json:
        counts = {"polls": outcome.polls, "records": outcome.records}
        print_document({"collect": {**counts, "topologies": names, "folder": str(output)}})
        return
    print(
        f"{count(outcome.polls, 'poll')}, {outcome.records:,} records of {', '.join(names)} in"
        f" {output}"
    )
