"""``streamgauge ingest``: raw metrics into the lake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.interrupts import interrupted
from streamgauge.cli.output import counted, print_document, print_table, say, warn
from streamgauge.cli.spark import BYTES_PER_ROW, Conf, Config, Master, spark_session
from streamgauge.errors import Findings, InvalidInput
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.lake.tables import Lake
    from streamgauge.pipeline.ingest.listing import InputFile
    from streamgauge.pipeline.ingest.tally import Tally
    from streamgauge.pipeline.range_queries import RangeRequest

REFUSED = 2
# How often `--follow` looks whether it should stop.
LOOK_SECONDS = 1
_QUERIED = ("http://", "https://")


def ingest(
    sources: Annotated[
        list[str],
        typer.Argument(help="Files or folders of raw metrics, or the URL of a metrics store."),
    ],
    lake: Annotated[str, typer.Option(help="The lake, as a path or URI; made where it is not.")],
    mapping: Annotated[
        Path | None, typer.Option(help="How columns or series become metrics (docs/sources.md).")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Of a metrics store: first time, RFC 3339.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="Of a metrics store: time to stop before.")
    ] = None,
    received_at: Annotated[
        str | None,
        typer.Option(help="When files were received; their modification times when not given."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 2 where a line was not taken.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on: take files as they appear in a folder.")
    ] = False,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Take raw metrics into the lake: each row once, nothing lost, all of it or nothing."""
    with require_extra("pipeline"):
        from streamgauge.lake.tables import Lake

    target = Lake(lake)
    receipt = None if received_at is None else moment(received_at, "received_at")
    rules = None if mapping is None else read_mapping(mapping)
    if follow:
        _follow(sources, target, master, conf, config)
        return
    if any(source.startswith(_QUERIED) for source in sources):
        request = _request(sources, rules, start, end)
        with spark_session("ingest", master, conf, config) as spark:
            from streamgauge.pipeline.ingest.job import ingest_source

            tally = ingest_source(spark, target, request, say=say)
    else:
        _no_period(start, end)
        files = _files(sources, rules, receipt)
        rows = sum(file.bytes for file in files) // BYTES_PER_ROW
        with spark_session("ingest", master, conf, config, input_rows=rows) as spark:
            from streamgauge.pipeline.ingest.job import ingest_files

            tally = ingest_files(spark, target, files, mapping=rules, say=say)
    present(tally, as_json=as_json)
    if strict and (tally.reasons or tally.faults):
        raise typer.Exit(REFUSED)


def _no_period(start: str | None, end: str | None) -> None:
    """Files are taken whole: what they hold is never dropped silently."""
    if start is not None or end is not None:
        raise InvalidInput.single(
            ("from",),
            seen="--from or --to with files",
            expected="them for a metrics store only",
            remedy="files are taken whole; `calibrate --from --to` chooses a period",
        )


def read_mapping(path: Path) -> str:
    """The text of a mapping that was found to be right."""
    from streamgauge.lake.mapping_file import load_mapping

    load_mapping(path)
    return path.read_text()


def _files(sources: list[str], rules: str | None, receipt: datetime | None) -> list[InputFile]:
    from streamgauge.lake.mapping import CsvMapping, ParquetMapping
    from streamgauge.lake.mapping_file import parse_mapping
    from streamgauge.pipeline.ingest.listing import LINE_FILES, find_files
    from streamgauge.pipeline.ingest.mapped_inputs import CSV_FILES, PARQUET_FILES

    kind = None if rules is None else parse_mapping(rules)
    endings: tuple[str, ...] = LINE_FILES + PARQUET_FILES
    if isinstance(kind, CsvMapping):
        endings = CSV_FILES
    elif isinstance(kind, ParquetMapping):
        endings = PARQUET_FILES
    files = find_files(sources, endings, receipt)
    if not files:
        raise InvalidInput.single(
            (),
            file=", ".join(sources),
            seen="no files of metrics",
            expected=f"files whose names end in {', '.join(endings)}",
        )
    return files


def _request(
    sources: list[str], rules: str | None, start: str | None, end: str | None
) -> RangeRequest:
    """What to ask a database for, once it was found to answer."""
    from streamgauge.lake.servers import Credentials
    from streamgauge.pipeline.probing import check_source
    from streamgauge.pipeline.range_queries import RangeRequest, TimeRange

    findings = Findings()
    if len(sources) != 1:
        findings.add("sources", seen=f"{len(sources)} sources", expected="one URL at a time")
    if rules is None:
        findings.add("mapping", seen="no --mapping", expected="one (see docs/sources.md)")
    if start is None or end is None:
        findings.add("from", seen="no --from and --to", expected="both, for a metrics store")
    findings.raise_if_any()
    assert rules is not None and start is not None and end is not None
    request = RangeRequest(
        url=sources[0],
        period=TimeRange(
            start_us=_microseconds(moment(start, "from")), end_us=_microseconds(moment(end, "to"))
        ),
        received_at_us=_microseconds(datetime.now(UTC)),
        mapping=rules,
        credentials=Credentials.usual(),
    )
    warn(check_source(request).warnings)
    return request


def _microseconds(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def moment(text: str, place: str) -> datetime:
    """A time with its zone.

    Raises:
        InvalidInput: It is none.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise InvalidInput.single(
            (place,), seen=repr(text), expected="a time with its zone: 2026-01-31T12:00:00Z"
        )
    return time.astimezone(UTC)


def present(tally: Tally, *, as_json: bool) -> None:
    """What was done, as a document or as tables."""
    if as_json:
        print_document({"ingest": tally.to_dict()})
        return
    rows = [(name, count) for name, count in tally.taken.items()]
    rows += [("quarantine", tally.quarantined), ("duplicates", tally.duplicates)]
    print(summary(tally))
    print_table("", ["went to", "rows"], rows)
    if tally.known_files:
        say(f"{counted(tally.known_files, 'file')} not read, as the lake has them already")
    if tally.reasons:
        print_table("Not taken", ["reason", "lines"], sorted(tally.reasons.items()))
        say("`streamgauge lake quarantine` shows them")
    warn(f"{file}: read only in part: {fault}" for file, fault in sorted(tally.faults.items()))


def summary(tally: Tally) -> str:
    """What was done, in one line."""
    return (
        f"{counted(tally.files, 'file')}, {tally.lines:,} lines: {sum(tally.taken.values()):,}"
        f" rows taken, {tally.quarantined:,} in quarantine, {tally.duplicates:,} duplicates"
    )


def _follow(
    sources: list[str],
    lake: Lake,
    master: str | None,
    conf: list[str] | None,
    config: Path | None,
) -> None:
    if len(sources) != 1:
        raise InvalidInput.single(
            ("sources",), seen=f"{len(sources)} sources", expected="one folder to follow"
        )
    with spark_session("ingest --follow", master, conf, config) as spark:
        from streamgauge.pipeline.ingest.following import follow

        def told(number: int, tally: Tally) -> None:
            say(f"batch {number}: {summary(tally)}")

        query = follow(spark, lake, sources[0], told=told)
        say(f"following {sources[0]}; stop with Ctrl-C")
        try:
            # Spark's own handler would call the virtual machine while a call is under way.
            with interrupted("stopping after this batch; once more stops at once") as stop:
                # A batch that has begun is finished first; a second Ctrl-C does not wait for it.
                while not query.awaitTermination(LOOK_SECONDS):
                    if stop.is_set() and not query.status["isTriggerActive"]:
                        say("stopped")
                        break
        finally:
            query.stop()
