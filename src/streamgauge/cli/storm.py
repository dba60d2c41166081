"""``streamgauge storm``: a real Storm cluster on this machine, and plans applied to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.output import counted, print_document, print_table, say

app = typer.Typer(
    help="Run a Storm cluster on this machine, and apply plans to it.", no_args_is_help=True
)

UNREACHABLE = 4

Data = Annotated[
    Path | None,
    typer.Option(help="Folder of the cluster; one in the user's state folder unless given."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def up(
    nodes: Annotated[int, typer.Option(help="Supervisors, each its own loopback address.")] = 2,
    slots: Annotated[int, typer.Option(help="Workers that each node can run.")] = 2,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Start ZooKeeper, nimbus and supervisors; they run on until `storm down`."""
    from streamgauge.engines.storm.cluster import StormCluster
    from streamgauge.engines.storm.status import status_of

    place = _place(data)
    StormCluster.up(place, nodes=nodes, slots=slots, say=say)
    status = status_of(place)
    if as_json:
        print_document({"storm": status.to_dict()})
        return
    count = counted(nodes * slots, "slot")
    print(f"Storm is up: nimbus at {status.nimbus}, {counted(nodes, 'node')}, {count}")
    say(f"its data and logs are in {place}")


@app.command()
def down(data: Data = None, as_json: AsJson = False) -> None:
    """End the cluster, its workers, and what a killed process left of one."""
    from streamgauge.engines.storm.cluster import take_down

    ended = take_down(_place(data), say)
    if as_json:
        print_document({"storm": {"ended_processes": ended}})
    else:
        print(f"ended {ended} process{'' if ended == 1 else 'es'}")


@app.command()
def status(data: Data = None, as_json: AsJson = False) -> None:
    """Show daemons, nodes, slots and topologies; exit code 4 where nimbus does not answer."""
    from streamgauge.engines.storm.status import status_of

    found = status_of(_place(data))
    if as_json:
        print_document({"storm": found.to_dict()})
    else:
        say(f"data and logs: {found.data}")
        print(f"nimbus at {found.nimbus}, ZooKeeper at {found.zookeeper}")
        print_table(
            "",
            ("daemon", "pid", "state"),
            [(one.name, one.pid, "up" if one.is_alive else "dead") for one in found.daemons],
        )
        print_table(
            "",
            ("node", "slots", "in use"),
            [(one.name, ", ".join(map(str, one.slots)), one.used) for one in found.nodes],
        )
        if found.topologies:
            print_table(
                "",
                ("topology", "status", "workers", "executors", "tasks", "seconds"),
                [
                    (
                        one.name,
                        one.status,
                        one.workers,
                        one.executors,
                        one.tasks,
                        one.uptime_seconds,
                    )
                    for one in found.topologies
                ],
            )
    if found.trouble:
        for line in found.trouble.splitlines():
            say(f"error: {line}")
        raise typer.Exit(UNREACHABLE)


def _place(data: Path | None) -> Path:
    if data is not None:
        return data
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "streamgauge" / "storm"
