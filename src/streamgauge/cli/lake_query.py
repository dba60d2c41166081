"""``streamgauge lake query``: ask for a metric."""

from __future__ import annotations

from typing import Annotated

import typer

from streamgauge.cli.open_lake import Place, open_lake
from streamgauge.cli.options import AsJson, Start
from streamgauge.cli.output import can_print, print_document, print_table
from streamgauge.errors import InvalidInput

To = Annotated[str | None, typer.Option("--to", help="End of the period, exclusive, RFC 3339.")]


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
    start: Start = None,
    end: To = None,
    window: Annotated[
        str | None, typer.Option(help="A figure for each window of this length: 30s, 5m, 1h.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Group by these: component,task …")] = None,
    mean: Annotated[bool, typer.Option("--mean", help="The mean.")] = False,
    median: Annotated[bool, typer.Option("--median", help="The median.")] = False,
    quantile: Annotated[float | None, typer.Option(help="A quantile, such as 0.99.")] = None,
    series: Annotated[bool, typer.Option("--series", help="The values over time.")] = False,
    version: Annotated[
        int | None,
        typer.Option(min=0, help="Version of the samples, as `lake history` lists them."),
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
    with open_lake(lake) as opened:
        from streamgauge.api.loading import read_time
        from streamgauge.lake.queries import ask
        from streamgauge.lake.questions import Question, metric_named, read_length

        question = Question(
            metric=metric_named(metric),
            where={name: value for name, value in named.items() if value is not None},
            start=None if start is None else read_time(start, "from"),
            end=None if end is None else read_time(end, "to"),
            window_seconds=None if window is None else read_length(window),
            by=_read_columns(by),
            mean=mean,
            probability=_read_probability(mean=mean, median=median, quantile=quantile),
            is_series=series,
        )
        answer = ask(opened, question, version)
    if as_json:
        print_document({"query": answer.to_dict()})
        return
    from streamgauge.drawing.text_picture import BARS, PLAIN_BARS
    from streamgauge.reports import lake as said

    print("\n".join(said.describe_answer(answer)))
    bars = BARS if can_print(BARS) else PLAIN_BARS
    if not series:
        print_table(said.tabulate_windows(answer), said.MOST_ANSWERS)
    elif question.by:
        print_table(said.tabulate_series(answer, bars), said.MOST_ANSWERS)
    else:
        print("\n".join(said.describe_series(answer, bars)))


def _read_columns(by: str | None) -> tuple[str, ...]:
    names = [] if by is None else by.split(",")
    return tuple(name.strip().replace("-", "_") for name in names if name.strip())


def _read_probability(*, mean: bool, median: bool, quantile: float | None) -> float | None:
    if mean + median + (quantile is not None) > 1:
        raise InvalidInput.single(
            (), seen="several figures at once", expected="one of --mean, --median, --quantile"
        )
    return 0.5 if median else quantile
