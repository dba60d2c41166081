"""Which extra brings a package that is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from streamgauge.errors import MissingExtra


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """Turn a failing import inside the block into the command that installs what is missing.

    Raises:
        MissingExtra: A package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "streamgauge":
            raise
        raise MissingExtra(package, extra) from None
