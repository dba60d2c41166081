"""``streamgauge lake``: look at what was measured, and keep it in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.api.ingest import read_mapping
from streamgauge.api.times import read_time
from streamgauge.cli.ingest import present
from streamgauge.cli.output import print_document, say
from streamgauge.cli.spark import Conf, Config, Master, spark_session
from streamgauge.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from streamgauge.lake.tables import Lake, LakeTable

app = typer.Typer(help="Look at what was measured, and keep it in order.", no_args_is_help=True)

Place = Annotated[str, typer.Option("--lake", help="The lake, as a path or URI.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
OneTable = Annotated[str | None, typer.Option("--table", help="Only this table.")]
From = Annotated[str | None, typer.Option("--from", help="First time, RFC 3339.")]
To = Annotated[str | None, typer.Option("--to", help="Time to stop before, RFC 3339.")]
Limit = Annotated[int, typer.Option(min=0, help="At most so many; 0 for all.")]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_MEBIBYTE = 2**20


@app.command()
def info(
    lake: Place,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Show what the lake holds: tables, topologies, quarantine, sources."""
    with _open(lake) as opened:
        from streamgauge.lake import contents

        tables = contents.tables_of(opened)
        count, topologies = contents.topologies_of(opened, limit or None)
        reasons = {key[0]: n for key, n in contents.quarantine_counts(opened, by=("reason",))}
        sources = contents.sources_of(opened)
    if as_json:
        print_document(
            {
                "lake": opened.uri,
                "tables": [one.to_dict() for one in tables],
                "topology_count": count,
                "topologies": [one.to_dict() for one in topologies],
                "quarantine": reasons,
                "sources": sources.to_dict(),
            }
        )
        return
    from streamgauge.cli.lake_tables import print_contents

    print_contents(opened.uri, tables, (count, topologies), reasons, sources)


@app.command()
def compact(
    lake: Place,
    table: OneTable = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="Only the last so many days that a table has.")
    ] = None,
    target_size: Annotated[
        int, typer.Option(min=1, help="About how large a file may become, in MiB.")
    ] = 128,
    as_json: AsJson = False,
) -> None:
    """Merge small files into large ones; the rows stay the same, and ingests may go on."""
    with _open(lake) as opened:
        from streamgauge.lake import upkeep

        size = target_size * _MEBIBYTE
        done = [
            upkeep.compact(one, days=days, target_bytes=size, say=say)
            for one in _tables(opened, table)
        ]
    if as_json:
        print_document({"compact": [one.to_dict() for one in done]})
        return
    from streamgauge.cli.lake_tables import print_compaction

    print_compaction(done)


@app.command()
def vacuum(
    lake: Place,
    older_than: Annotated[
        float, typer.Option(help="Hours for which old versions and unfinished work are kept.")
    ] = 168.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would go, and remove nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Allow less than an hour; nobody else may be at work.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove files that no kept version needs, and what killed ingests left behind."""
    with _open(lake) as opened:
        from streamgauge.lake import leftovers

        leftovers.check_retention(older_than, force=force)
        cutoff = leftovers.cutoff_of(datetime.now(UTC), older_than)
        found = leftovers.find_leftovers(opened, cutoff)
        folders = 0 if dry_run else leftovers.remove_leftovers(opened, found, cutoff)
    if as_json:
        detail = {"older_than_hours": older_than, "dry_run": dry_run, "folders": folders}
        print_document({"vacuum": {**detail, "files": [one.to_dict() for one in found]}})
        return
    from streamgauge.cli.lake_tables import print_leftovers

    print_leftovers(found, folders, dry_run=dry_run)


@app.command()
def repair(
    lake: Place,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what is damaged, and change nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take damaged files out of the lake, so that the next ingest reads their sources again."""
    from streamgauge.lake.repair import repair as run
    from streamgauge.lake.tables import Lake

    opened = Lake(lake)
    done = run(opened, dry_run=dry_run)
    if as_json:
        print_document({"repair": {"dry_run": dry_run, **done.to_dict()}})
        return
    from streamgauge.cli.lake_tables import print_repair

    print_repair(opened.uri, done, dry_run=dry_run)


@app.command()
def history(
    lake: Place,
    table: OneTable = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """Show the versions of tables: when, by what, how many rows and files came and went."""
    with _open(lake) as opened:
        from streamgauge.lake import upkeep

        changes = [
            (one.table.name, change)
            for one in _tables(opened, table)
            for change in upkeep.history(one, limit or None)
        ]
    changes.sort(key=lambda named: (named[1].time, named[1].version), reverse=True)
    listed = changes[: limit or None]
    if as_json:
        print_document({"history": [{"table": name} | one.to_dict() for name, one in listed]})
        return
    from streamgauge.cli.lake_tables import print_history

    print_history(listed)


@app.command()
def query(
    metric: Annotated[str, typer.Argument(help="A metric of docs/raw-format.md.")],
    lake: Place,
    topology: Annotated[str | None, typer.Option(help="Only this topology.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Only this cluster.")] = None,
    component: Annotated[str | None, typer.Option(help="Only this operator.")] = None,
    task: Annotated[int | None, typer.Option(help="Only this task.")] = None,
    worker: Annotated[str | None, typer.Option(help="Only this worker, NODE:PORT.")] = None,
    node: Annotated[str | None, typer.Option(help="Only this node.")] = None,
    machine: Annotated[str | None, typer.Option(help="Only this machine.")] = None,
    stream: Annotated[str | None, typer.Option(help="Only this stream.")] = None,
    source_component: Annotated[str | None, typer.Option(help="Only from this operator.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only this kind of queue.")] = None,
    start: From = None,
    end: To = None,
    window: Annotated[
        str | None, typer.Option(help="A figure for each window of this length: 30s, 5m, 1h.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="A figure for each of these: component,task …")
    ] = None,
    mean: Annotated[bool, typer.Option("--mean", help="The mean.")] = False,
    median: Annotated[bool, typer.Option("--median", help="The median.")] = False,
    quantile: Annotated[float | None, typer.Option(help="A quantile, such as 0.99.")] = None,
    series: Annotated[bool, typer.Option("--series", help="The course over time.")] = False,
    version: Annotated[
        int | None, typer.Option(min=0, help="Of the samples, as `lake history` lists them.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask for a metric: rate, mean, median, quantile or series, per window and by what you like."""
    named = {
        "topology": topology,
        "cluster": cluster,
        "component": component,
        "task": task,
        "worker": worker,
        "node": node,
        "machine": machine,
        "stream": stream,
        "source_component": source_component,
        "queue": queue,
    }
    with _open(lake) as opened:
        from streamgauge.lake.queries import ask
        from streamgauge.lake.questions import Question, metric_named

        question = Question(
            metric=metric_named(metric),
            where={name: value for name, value in named.items() if value is not None},
            start=None if start is None else read_time(start, "from"),
            end=None if end is None else read_time(end, "to"),
            window_seconds=None if window is None else length_of(window),
            by=_columns(by),
            mean=mean,
            probability=_probability(mean=mean, median=median, quantile=quantile),
            is_series=series,
        )
        answer = ask(opened, question, version)
    if as_json:
        print_document({"query": answer.to_dict()})
        return
    from streamgauge.cli.lake_tables import print_answer

    print_answer(answer)


@app.command()
def quarantine(
    lake: Place,
    reason: Annotated[str | None, typer.Option(help="Only lines not taken for this.")] = None,
    file: Annotated[
        str | None, typer.Option(help="Only lines of this file, by its URI or the end of it.")
    ] = None,
    limit: Limit = 20,
    show: Annotated[bool, typer.Option("--show", help="Print the lines as they came.")] = False,
    locate: Annotated[
        bool, typer.Option("--locate", help="Find line numbers by reading the files again.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Take back the lines that are good now, on Spark.")
    ] = False,
    received_at: Annotated[
        str | None, typer.Option(help="With --retry: when the lines count as received.")
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(help="With --retry: what columns mean, for rows of CSV and Parquet."),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show lines that were not taken and why, find them in their files, or take them back."""
    only_retry = {"received_at": received_at, "mapping": mapping}
    _check_quarantine_options(
        retry=retry, narrowed=bool(reason or file or show or locate), only_retry=only_retry
    )
    if retry:
        receipt = None if received_at is None else read_time(received_at, "received_at")
        rules = None if mapping is None else read_mapping(mapping)
        with _open(lake) as opened, spark_session("retry", master, conf, config) as spark:
            from streamgauge.pipeline.ingest import retrying

            tally = retrying.retry(spark, opened, received_at=receipt, mapping=rules, say=say)
        present(tally, as_json=as_json)
        return
    with _open(lake) as opened:
        _check_reason(reason)
        found = _quarantined(opened, reason, file, limit or None, show=show, locate=locate)
    if as_json:
        from streamgauge.cli.lake_lines import quarantine_document

        print_document({"quarantine": quarantine_document(**found)})
        return
    from streamgauge.cli.lake_lines import print_quarantine

    print_quarantine(**found, limit=limit)


def _quarantined(
    lake: Lake,
    reason: str | None,
    file: str | None,
    limit: int | None,
    *,
    show: bool,
    locate: bool,
) -> dict[str, Any]:
    """Counts by reason and by file, and lines with or without their places where asked for."""
    from streamgauge.lake import contents, locating

    named = {"reason": reason, "file": file}
    lines = list(contents.quarantined_lines(lake, **named, limit=limit)) if show or locate else None
    return {
        "reasons": contents.quarantine_counts(lake, **named, by=("reason",)),
        "files": contents.quarantine_counts(lake, **named, by=("file", "reason")),
        "lines": lines,
        "located": list(locating.locate(lines)) if locate and lines is not None else None,
    }


@contextmanager
def _open(uri: str) -> Iterator[Lake]:
    """A lake that exists.

    Raises:
        UnreadableFile: There is no lake, or a file of it cannot be read.
    """
    from streamgauge.lake.scanning import readable
    from streamgauge.lake.tables import Lake

    lake = Lake(uri)
    lake.check_exists()
    with readable(lake.uri):
        yield lake


def _tables(lake: Lake, name: str | None) -> list[LakeTable]:
    from streamgauge.lake.schemas import TABLES

    if name is None:
        return lake.tables()
    if name not in TABLES:
        raise InvalidInput.single(
            ("table",),
            seen=f"unknown table {name!r}",
            expected="a table of the lake",
            remedy=did_you_mean(name, list(TABLES)),
        )
    return [lake.table(name)]


def length_of(text: str) -> float:
    """Seconds of a length of time.

    Raises:
        InvalidInput: It is none.
    """
    found = _LENGTH.fullmatch(text.strip())
    if found is None:
        raise InvalidInput.single(
            ("window",), seen=repr(text), expected="a number and ms, s, m, h or d: 30s, 5m, 1h"
        )
    return float(found[1]) * _UNITS[found[2]]


def _columns(by: str | None) -> tuple[str, ...]:
    names = [] if by is None else by.split(",")
    return tuple(name.strip().replace("-", "_") for name in names if name.strip())


def _probability(*, mean: bool, median: bool, quantile: float | None) -> float | None:
    if mean + median + (quantile is not None) > 1:
        raise InvalidInput.single(
            (), seen="several figures at once", expected="one of --mean, --median, --quantile"
        )
    return 0.5 if median else quantile


def _check_quarantine_options(
    *, retry: bool, narrowed: bool, only_retry: Mapping[str, object]
) -> None:
    if retry and narrowed:
        raise InvalidInput.single(
            ("retry",),
            seen="--reason, --file, --show or --locate",
            expected="none of them: all lines are tried",
        )
    for name, value in only_retry.items():
        if value is not None and not retry:
            raise InvalidInput.single((name,), seen="no --retry", expected="it, too")


def _check_reason(reason: str | None) -> None:
    from streamgauge.lake.rules import Reason

    known = [str(one) for one in Reason]
    if reason is not None and reason not in known:
        raise InvalidInput.single(
            ("reason",),
            seen=f"unknown reason {reason!r}",
            expected="one of docs/raw-format.md",
            remedy=did_you_mean(reason, known),
        )
