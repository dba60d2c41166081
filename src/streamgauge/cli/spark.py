"""What commands that run on Spark share: where it runs, its settings, its progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.errors import InvalidInput

if TYPE_CHECKING:
    from streamgauge.api.spark import SparkOptions
    from streamgauge.pipeline.session import Session

BAR = 30


def settings_of(conf: list[str] | None, config: Path | None) -> dict[str, str]:
    """Spark's settings from a file and from options, which win.

    Raises:
        InvalidInput: A setting has no name or no value; or the file cannot be read.
    """
    settings = {} if config is None else _read(config)
    for setting in conf or ():
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise InvalidInput.single(
                ("conf",), seen=repr(setting), expected="KEY=VALUE, such as spark.driver.memory=4g"
            )
        settings[key.strip()] = value.strip()
    return settings


def _read(config: Path) -> dict[str, str]:
    try:
        lines = config.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.single(
            (), file=str(config), seen=str(error), expected="a file of settings"
        ) from None
    settings = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key, _, value = text.replace("=", " ", 1).partition(" ")
        if not value.strip():
            raise InvalidInput.single(
                (), file=f"{config}:{number}", seen=repr(text), expected="a name and a value"
            )
        settings[key] = value.strip()
    return settings


@contextmanager
def spark_options(
    master: str | None, conf: list[str] | None, config: Path | None
) -> Iterator[SparkOptions]:
    """Where Spark runs for one command, with a bar of its tasks on a terminal."""
    from streamgauge.api.spark import SparkOptions

    settings = settings_of(conf, config)
    if not sys.stderr.isatty():
        yield SparkOptions(master=master, settings=settings)
        return
    try:
        yield SparkOptions(master=master, settings=settings, progress=_show_bar)
    finally:
        print(f"\r{' ' * (BAR + 30)}\r", end="", file=sys.stderr)


@contextmanager
def spark_session(
    name: str,
    master: str | None,
    conf: list[str] | None,
    config: Path | None,
) -> Iterator[Session]:
    """A session for one command, with a bar of its tasks on a terminal."""
    from streamgauge.api.spark import open_session

    with (
        spark_options(master, conf, config) as options,
        open_session(name, options) as session,
    ):
        yield session


def _show_bar(done: int, tasks: int) -> None:
    filled = BAR * done // max(tasks, 1)
    bar = "━" * filled + " " * (BAR - filled)
    print(f"\r  {bar} {done} of {tasks} tasks   ", end="", file=sys.stderr, flush=True)
