"""Options and arguments that several commands have, each stated once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JobFile = Annotated[str, typer.Argument(help="A job in YAML or JSON; - reads standard input.")]
Step = Annotated[str | None, typer.Option(help="Configure the job as in this step.")]
Rate = Annotated[
    list[str] | None,
    typer.Option(help="Tuples per second of all sources together, or SOURCE=NUMBER."),
]
Load = Annotated[
    str | None,
    typer.Option(
        help="Instead of --rate: mean, peak (p99), p95 … of what sources emitted, or what is"
        " forecast: forecast+1h, forecast+1h@p95."
    ),
]
Series = Annotated[
    str | None,
    typer.Option(
        help="With --load: a CSV file of source rates; the lake's or the profile's own history"
        " when not given."
    ),
]
HistoryLake = Annotated[
    str | None, typer.Option("--lake", help="With --load: a lake that measured the source rates.")
]
Start = Annotated[str | None, typer.Option("--from", help="Start of the period, RFC 3339.")]
Svg = Annotated[Path | None, typer.Option(help="Write the picture to this file.")]
Html = Annotated[Path | None, typer.Option(help="Write a page with pictures to this file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs: local[2], spark://HOST:PORT, yarn, k8s://…"),
]
Conf = Annotated[
    list[str] | None, typer.Option(help="A setting of Spark, KEY=VALUE; may be repeated.")
]
Config = Annotated[
    Path | None,
    typer.Option(help="A file of Spark settings, in the format of spark-defaults.conf."),
]
