"""The lake that a command is about: the options that the commands below `lake` share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from streamgauge.lake.tables import Lake

Place = Annotated[str, typer.Option("--lake", help="The lake, as a path or URI.")]
Limit = Annotated[int, typer.Option(min=0, help="Show at most this many; 0 for all.")]


@contextmanager
def open_lake(uri: str) -> Iterator[Lake]:
    """A lake that exists.

    Raises:
        UnreadableFile: There is no lake, or a file of it cannot be read.
    """
    from streamgauge.lake.tables import Lake, readable

    lake = Lake(uri)
    lake.check_exists()
    with readable(lake.uri):
        yield lake
