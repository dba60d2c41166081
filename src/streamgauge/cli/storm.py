"""``streamgauge storm``: a real Storm cluster on this machine, and plans applied to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.exit_codes import UNREACHABLE
from streamgauge.cli.options import AsJson
from streamgauge.cli.output import print_document, print_table, say
from streamgauge.drawing.wording import count
from streamgauge.errors import in_file

if TYPE_CHECKING:
    from streamgauge.reports.content import Row

app = typer.Typer(
    help="Run a Storm cluster on this machine, and apply plans to it.", no_args_is_help=True
)


Data = Annotated[
    Path | None,
    typer.Option(help="Folder of the cluster; one in the user's state folder unless given."),
]


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

    place = _find_folder(data)
    StormCluster.up(place, nodes=nodes, slots=slots, say=say)
    status = status_of(place)
    if as_json:
        print_document({"storm": status.to_dict()})
        return
    size = f"{count(nodes, 'node')}, {count(nodes * slots, 'slot')}"
    print(f"Storm is up: nimbus at {status.nimbus}, {size}")
    say(f"its data and logs are in {place}")


@app.command()
def down(data: Data = None, as_json: AsJson = False) -> None:
    """End the cluster, its workers, and what a killed process left of one."""
    from streamgauge.engines.storm.cluster import take_down

    ended = take_down(_find_folder(data), say)
    if as_json:
        print_document({"storm": {"ended_processes": ended}})
    else:
        print(f"ended {ended} process{'' if ended == 1 else 'es'}")


@app.command()
def status(data: Data = None, as_json: AsJson = False) -> None:
    """Show daemons, nodes, slots and topologies; exit code 4 where nimbus does not answer."""
    from streamgauge.engines.storm.status import status_of
    from streamgauge.reports.content import Column, tabulate

    cluster = status_of(_find_folder(data))
    if as_json:
        print_document({"storm": cluster.to_dict()})
    else:
        say(f"data and logs: {cluster.data}")
        print(f"nimbus at {cluster.nimbus}, ZooKeeper at {cluster.zookeeper}")
        daemons: list[Row] = [
            {
                Column("daemon"): daemon.name,
                Column("pid"): daemon.pid,
                Column("state", words=True): "up" if daemon.is_alive else "dead",
            }
            for daemon in cluster.daemons
        ]
        nodes: list[Row] = [
            {
                Column("node"): node.name,
                Column("slots", words=True): ", ".join(map(str, node.slots)),
                Column("in use"): node.used,
            }
            for node in cluster.nodes
        ]
        topologies: list[Row] = [
            {
                Column("topology"): topology.name,
                Column("status", words=True): topology.status,
                Column("workers"): topology.workers,
                Column("executors"): topology.executors,
                Column("tasks"): topology.tasks,
                Column("seconds"): topology.uptime_seconds,
            }
            for topology in cluster.topologies
        ]
        for rows in (daemons, nodes, topologies):
            print_table(tabulate("", rows))
    if cluster.trouble:
        for line in cluster.trouble.splitlines():
            say(f"error: {line}")
        raise typer.Exit(UNREACHABLE)


@app.command()
def apply(
    plan: Annotated[Path, typer.Argument(help="A job file with a plan (docs/job-files.md).")],
    topology: Annotated[
        str | None, typer.Option(help="The running topology; that of the file unless given.")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Bring a running topology into a plan, and read back whether it is; exit code 3 if not."""
    from streamgauge.engines.storm.applying import apply_plan, check_plan, find_plan, plan_document
    from streamgauge.engines.storm.cluster import StormCluster
    from streamgauge.profile.files.jobs import load_job
    from streamgauge.reports.content import Column, tabulate

    job = load_job(plan)
    with in_file(str(plan)):
        wanted = find_plan(job)
    cluster = StormCluster.attach(_find_folder(data))
    with in_file(str(plan)):
        check_plan(wanted, cluster.cluster)
    name = topology or job.topology.name
    with cluster.bridge() as bridge:
        placed = apply_plan(bridge, cluster.layout.plans, name, wanted)
    if as_json:
        print_document({"plan": plan_document(placed, name)})
        return
    rows = [
        {
            Column("worker"): str(worker),
            Column("executors", words=True): ", ".join(map(str, executors)),
        }
        for worker, executors in placed.executors_by_worker.items()
    ]
    print_table(tabulate(f"{name} runs as planned", rows))


@app.command()
def release(
    topology: Annotated[str, typer.Argument(help="A topology that waits to join.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let a topology in that waits while others miss their objectives (`slo status --gate`)."""
    from streamgauge.engines.storm.gate import release as let_in
    from streamgauge.engines.storm.layout import Layout

    let_in(Layout(_find_folder(data)).plans, topology)
    if as_json:
        print_document({"released": topology})
    else:
        print(f"{topology} may join; the scheduler looks every ten seconds")


@app.command(context_settings={"ignore_unknown_options": True})
def submit(
    jar: Annotated[Path, typer.Argument(help="The jar of a topology.")],
    main: Annotated[str, typer.Argument(help="Its main class, which submits it.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments of that class.")] = None,
    with_agent: Annotated[
        bool, typer.Option("--agent", help="Add the metrics agent to its configuration.")
    ] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Run a topology of your own on the cluster, as `storm jar` does; options before JAR."""
    from streamgauge.engines.storm.agent import agent_settings
    from streamgauge.engines.storm.cluster import StormCluster
    from streamgauge.engines.storm.submitting import submit_jar

    cluster = StormCluster.attach(_find_folder(data))
    settings = agent_settings() if with_agent else {}
    names = submit_jar(cluster, jar, main, arguments or (), settings=settings)
    if as_json:
        print_document({"submitted": list(names), "logs": str(cluster.layout.logs)})
        return
    print(f"submitted {', '.join(names) or 'nothing'}")
    if with_agent:
        say(f"metrics: {cluster.layout.logs}/NODE/TOPOLOGY/PORT/streamgauge")


@app.command()
def agent(as_json: AsJson = False) -> None:
    """Say where the jar of the metrics agent is, and what a topology's configuration needs."""
    from streamgauge.engines.storm.agent import agent_settings
    from streamgauge.engines.storm.jars import own_jar

    jar = own_jar()
    settings = agent_settings()
    if as_json:
        print_document({"agent": {"jar": str(jar), "settings": settings}})
        return
    say("put this jar into extlib/ of every node, or into the topology's own jar:")
    print(jar)
    say("and these two lines into the topology's configuration (or storm.yaml):")
    for name, value in settings.items():
        print(f"{name}: {json.dumps(value)}")


def _find_folder(data: Path | None) -> Path:
    from streamgauge.engines.storm.layout import default_folder

    return data or default_folder()
