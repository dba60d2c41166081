"""Which extra brings a package that is not installed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from streamgauge.errors import MissingExtra

PACKAGE = "streamgauge"
_FOR_EXTRA = re.compile(r"(?P<package>[\w.-]+).*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)")


@contextmanager
def require_extra(extra: str | None = None) -> Iterator[None]:
    """Turn a failing import inside the block into the command that installs what is missing.

    Args:
        extra: Which one it is; found by the missing package's name when not given.

    Raises:
        MissingExtra: A package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == PACKAGE:
            raise
        needed = extra or extra_with(package)
        if not needed:
            raise
        raise MissingExtra(package, needed) from None


def extra_with(package: str) -> str:
    """The smallest of our extras that installs a package; empty where none does."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        requirements = requires(PACKAGE) or []
    except PackageNotFoundError:
        return ""
    packages: dict[str, set[str]] = {}
    for match in filter(None, map(_FOR_EXTRA.match, requirements)):
        packages.setdefault(match["extra"], set()).add(_normalised(match["package"]))
    having = [extra for extra, names in packages.items() if _normalised(package) in names]
    return min(having, key=lambda extra: len(packages[extra]), default="")


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
