"""``streamgauge lake quarantine``: lines that were not taken, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.ingest import present
from streamgauge.cli.open_lake import Limit, Place, open_lake
from streamgauge.cli.options import AsJson, Conf, Config, Master
from streamgauge.cli.output import print_document, print_table, say, warn
from streamgauge.cli.spark import spark_session
from streamgauge.drawing.wording import printable
from streamgauge.errors import InvalidInput

if TYPE_CHECKING:
    from streamgauge.lake.quarantine import Located, Quarantined, QuarantineReview

# What a terminal shows of one line.
MOST_SHOWN = 400


def quarantine(
    lake: Place,
    reason: Annotated[str | None, typer.Option(help="Only lines rejected for this reason.")] = None,
    file: Annotated[
        str | None, typer.Option(help="Only lines of this file, by its URI or the end of it.")
    ] = None,
    limit: Limit = 20,
    show: Annotated[bool, typer.Option("--show", help="Print the lines unchanged.")] = False,
    locate: Annotated[
        bool, typer.Option("--locate", help="Find line numbers by reading the files again.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Ingest again the lines that are valid now, on Spark.")
    ] = False,
    received_at: Annotated[
        str | None, typer.Option(help="With --retry: time of receipt for the lines.")
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
    _check_options(
        retry=retry, narrowed=bool(reason or file or show or locate), only_retry=only_retry
    )
    if retry:
        from streamgauge.api.ingest import read_mapping
        from streamgauge.api.loading import read_time

        receipt = None if received_at is None else read_time(received_at, "received_at")
        rules = None if mapping is None else read_mapping(mapping)
        with open_lake(lake) as opened, spark_session("retry", master, conf, config) as spark:
            from streamgauge.pipeline.ingest import retrying

            tally = retrying.retry(spark, opened, received_at=receipt, mapping=rules, say=say)
        present(tally, as_json=as_json)
        return
    with open_lake(lake) as opened:
        from streamgauge.lake.quarantine import review_quarantine

        review = review_quarantine(
            opened,
            reason=reason,
            file=file,
            limit=limit or None,
            with_lines=show,
            with_places=locate,
        )
    if as_json:
        print_document({"quarantine": review.to_dict()})
        return
    _print(review, limit)


def _check_options(*, retry: bool, narrowed: bool, only_retry: Mapping[str, object]) -> None:
    if retry and narrowed:
        raise InvalidInput.single(
            ("retry",),
            seen="--reason, --file, --show or --locate",
            expected="none of them: all lines are tried",
        )
    for name, value in only_retry.items():
        if value is not None and not retry:
            raise InvalidInput.single((name,), seen="no --retry", expected="it, too")


def _print(review: QuarantineReview, limit: int) -> None:
    if not review.reasons:
        print("no such lines are in quarantine")
        return
    if review.lines is None:
        from streamgauge.reports.lake import tabulate_files, tabulate_reasons

        shown = review.files[: limit or None]
        print_table(tabulate_reasons(review.reasons, "Lines by reason"))
        print_table(tabulate_files(shown))
        _say_more(len(review.files) - len(shown))
        return
    if review.located is None:
        for line in review.lines:
            _print_line(line, "")
    else:
        for located in review.located:
            _print_line(located.line, _show_places(located))
        faults = {f"{place.line.file}: {place.fault}" for place in review.located if place.fault}
        warn(sorted(faults))
    _say_more(sum(review.reasons.values()) - len(review.lines))


def _say_more(number: int) -> None:
    if number > 0:
        say(f"and {number:,} more; --limit 0 shows all")


def _show_places(located: Located) -> str:
    if not located.numbers:
        return ": not found"
    others = located.times - len(located.numbers)
    more = f" and {others} more" if others > 0 else ""
    return f":{','.join(map(str, located.numbers))}{more}"


def _print_line(line: Quarantined, place: str) -> None:
    text = printable(line.raw.decode(errors="replace"))
    more = f"… ({len(line.raw):,} bytes)" if len(text) > MOST_SHOWN else ""
    print(f"{printable(line.file)}{place}: {line.reason}: {printable(line.detail)}")
    print(f"    {text[:MOST_SHOWN]}{more}")
