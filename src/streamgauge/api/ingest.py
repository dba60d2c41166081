"""``ingest``: raw metrics of files or of a metrics store go into the lake."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamgauge.api.loading import TimeLike, microseconds_of, read_time
from streamgauge.api.simulator import Say, stay_silent
from streamgauge.api.spark import BYTES_PER_ROW, HERE, SparkOptions, open_session
from streamgauge.errors import Findings, InvalidInput
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.pipeline.ingest.listing import InputFile
    from streamgauge.pipeline.ingest.tally import Tally
    from streamgauge.pipeline.range_queries import RangeRequest

_STORES: Final = ("http://", "https://")


def ingest(
    sources: Sequence[str | Path],
    lake: str | Path,
    *,
    mapping: str | Path | None = None,
    start: TimeLike | None = None,
    end: TimeLike | None = None,
    received_at: TimeLike | None = None,
    spark: SparkOptions = HERE,
    say: Say = stay_silent,
) -> Tally:
    """Take raw metrics into a lake: each row once, nothing lost, all of it or nothing.

    Args:
        sources: Files or folders of raw metrics, or the URL of one metrics store.
        lake: The lake, as a path or URI; it is made where it is not.
        mapping: The file that says how columns or series become metrics.
        start: Of a metrics store: first time, with its zone.
        end: Of a metrics store: time to stop before.
        received_at: When files were received; their modification times where it is not given.
        spark: Where Spark runs.
        say: Takes what is being done, in words.

    Raises:
        InvalidInput: A source is not there, or the arguments contradict each other.
        SourceUnreachable: A metrics store does not answer.
        JobFailed: Spark could not finish.
        MissingExtra: Spark is not installed.
    """
    with require_extra("pipeline"):
        from streamgauge.lake.tables import Lake
        from streamgauge.pipeline.ingest.job import ingest_files, ingest_source

    target = Lake(lake)
    receipt = None if received_at is None else read_time(received_at, "received_at")
    rules = None if mapping is None else read_mapping(mapping)
    names = [str(source) for source in sources]
    if any(name.startswith(_STORES) for name in names):
        request = _make_request(names, rules, start, end, say)
        with open_session("ingest", spark) as session:
            return ingest_source(session, target, request, say=say)
    _check_no_period(start, end)
    files = _find_files(names, rules, receipt)
    rows = sum(file.bytes for file in files) // BYTES_PER_ROW
    with open_session("ingest", spark, input_rows=rows) as session:
        return ingest_files(session, target, files, mapping=rules, say=say)


def read_mapping(path: str | Path) -> str:
    """The text of a mapping file, once it was found to be right."""
    from streamgauge.lake.files.mapping_file import load_mapping

    load_mapping(path)
    return Path(path).read_text()


def _check_no_period(start: TimeLike | None, end: TimeLike | None) -> None:
    """Files are taken whole: what they hold is never dropped silently."""
    if start is not None or end is not None:
        raise InvalidInput.single(
            ("from",),
            seen="--from or --to with files",
            expected="--from and --to for a metrics store only",
            remedy="files are taken whole; `calibrate --from --to` chooses a period",
        )


def _find_files(
    sources: Sequence[str], rules: str | None, receipt: datetime | None
) -> list[InputFile]:
    from streamgauge.lake.files.mapping_file import parse_mapping
    from streamgauge.lake.mapping import CsvMapping, ParquetMapping
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


def _make_request(
    sources: Sequence[str],
    rules: str | None,
    start: TimeLike | None,
    end: TimeLike | None,
    say: Say,
) -> RangeRequest:
    """What to ask a metrics store for, once it was found to answer."""
    from streamgauge.lake.http import Credentials
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
    period = TimeRange(
        start_us=microseconds_of(read_time(start, "from")),
        end_us=microseconds_of(read_time(end, "to")),
    )
    request = RangeRequest(
        url=sources[0],
        period=period,
        received_at_us=microseconds_of(datetime.now(UTC)),
        mapping=rules,
        credentials=Credentials.usual(),
    )
    for warning in check_source(request).warnings:
        say(f"warning: {warning}")
    return request
