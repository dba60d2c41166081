"""``streamgauge ingest``: raw metrics into the lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.exit_codes import INVALID_INPUT
from streamgauge.cli.options import AsJson, Conf, Config, Master
from streamgauge.cli.output import print_document, print_table, say, warn
from streamgauge.cli.progress import interrupted
from streamgauge.cli.spark import spark_options, spark_session
from streamgauge.drawing.wording import count
from streamgauge.errors import InvalidInput

if TYPE_CHECKING:
    from streamgauge.pipeline.ingest.tally import Tally

# How often `--follow` looks whether it should stop.
LOOK_SECONDS = 1


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(help="Files or folders of raw metrics, or the URL of a metrics store."),
    ],
    lake: Annotated[str, typer.Option(help="The lake, as a path or URI; created if missing.")],
    mapping: Annotated[
        Path | None, typer.Option(help="How columns or series become metrics (docs/sources.md).")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="For a metrics store: start of the period, RFC 3339."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="For a metrics store: end of the period, exclusive.")
    ] = None,
    received_at: Annotated[
        str | None,
        typer.Option(help="When files were received; their modification times when not given."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 2 if a line was rejected.")
    ] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Keep running: ingest files as they appear in a folder."),
    ] = False,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Take raw metrics into the lake: each row once, nothing lost, all of it or nothing."""
    if follow:
        _follow(sources, lake, master, conf, config)
        return
    from streamgauge.api.ingest import ingest as run

    with spark_options(master, conf, config) as options:
        tally = run(
            sources,
            lake,
            mapping=mapping,
            start=start,
            end=end,
            received_at=received_at,
            spark=options,
            say=say,
        )
    present(tally, as_json=as_json)
    if strict and (tally.reasons or tally.faults):
        raise typer.Exit(INVALID_INPUT)


def present(tally: Tally, *, as_json: bool) -> None:
    """What was done, as a document or as tables."""
    if as_json:
        print_document({"ingest": tally.to_dict()})
        return
    from streamgauge.reports.lake import tabulate_reasons, tabulate_tally

    print(summary(tally))
    print_table(tabulate_tally(tally))
    if tally.known_files:
        say(f"{count(tally.known_files, 'file')} skipped: already in the lake")
    if tally.reasons:
        print_table(tabulate_reasons(dict(sorted(tally.reasons.items())), "Rejected lines"))
        say("`streamgauge lake quarantine` shows them")
    warn(f"{file}: read only in part: {fault}" for file, fault in sorted(tally.faults.items()))


def summary(tally: Tally) -> str:
    """What was done, in one line."""
    return (
        f"{count(tally.files, 'file')}, {tally.lines:,} lines: {sum(tally.taken.values()):,}"
        f" rows taken, {tally.quarantined:,} in quarantine, {tally.duplicates:,} duplicates"
    )


def _follow(
    sources: list[str],
    lake: str,
    master: str | None,
    conf: list[str] | None,
    config: Path | None,
) -> None:
    if len(sources) != 1:
        raise InvalidInput.single(
            ("sources",), seen=f"{len(sources)} sources", expected="one folder to follow"
        )
    with spark_session("ingest --follow", master, conf, config) as spark:
        from streamgauge.lake.tables import Lake
        from streamgauge.pipeline.ingest.following import follow

        def told(number: int, tally: Tally) -> None:
            say(f"batch {number}: {summary(tally)}")

        query = follow(spark, Lake(lake), sources[0], told=told)
        say(f"following {sources[0]}; stop with Ctrl-C")
        try:
            # Spark's own handler would call the virtual machine while a call is under way.
            with interrupted(
                "stopping after this batch; press Ctrl-C again to stop at once"
            ) as stop:
                # A batch that has begun is finished first; a second Ctrl-C does not wait for it.
                while not query.awaitTermination(LOOK_SECONDS):
                    if stop.is_set() and not query.status["isTriggerActive"]:
                        say("stopped")
                        break
        finally:
            query.stop()
