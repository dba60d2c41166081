"""Asking the REST service of a Storm UI: one question at a time, and never for long.

Only the given host is asked: a redirect is an error, not an instruction. Proxies are not used.
"""

from __future__ import annotations

import json
import time
import urllib.parse
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from streamgauge.errors import SourceUnreachable
from streamgauge.lake.http import (
    Answer,
    Patience,
    Request,
    Sleep,
    TooLarge,
    TryAgain,
    fetch,
    server_url,
    unreachable,
)
from streamgauge.topology.field_checks import format_value

_PREFIX: Final = "/api/v1"
_SHOWN_MESSAGE: Final = 300
_WRONG_ADDRESS: Final = "check that this is the address of a Storm UI"
_NO_ANSWER: Final = "check the address, and that the UI is up"

USUAL_PATIENCE: Final = Patience(
    timeout_seconds=30.0, attempts=3, first_wait_seconds=1.0, most_bytes=32 * 2**20
)


class Refused(Exception):
    """The UI answers, but says that it cannot do what is asked; its own words."""


class UiClient:
    """The REST service at an address.

    Args:
        url: Of the UI, with or without ``/api/v1``.
        headers: Beside the usual ones, such as credentials.
        patience: How long and how often to ask.
        sleep: How to wait between tries.

    Raises:
        InvalidInput: It is no http or https address, or holds more than that.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        patience: Patience = USUAL_PATIENCE,
        sleep: Sleep = time.sleep,
    ) -> None:
        self.url = server_url(url, "ui").removesuffix(_PREFIX)
        self._headers = {"Accept": "application/json", **(headers or {})}
        self._patience = patience
        self._sleep = sleep

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """The object that the service answers with.

        Raises:
            SourceUnreachable: No whole answer, whatever was tried, or one that makes no sense.
            Refused: An error that the UI reports itself, with its own words, at every try.
        """
        request = Request(
            url=f"{self.url}{_PREFIX}/{path}"
            + (f"?{urllib.parse.urlencode(query)}" if query else ""),
            server=self.url,
            headers=self._headers,
            when_down=_NO_ANSWER,
            when_slow=_NO_ANSWER,
        )
        try:
            return fetch(request, self._read, self._patience, self._sleep)
        except TooLarge:
            what = f"an answer of more than {self._patience.most_bytes:,} bytes"
            raise self._wrong(what) from None

    def _read(self, answer: Answer) -> dict[str, Any]:
        """The JSON object in an answer, if the service answered at all."""
        with answer.body as file:
            body = file.read()
        document: object = None
        with suppress(ValueError, RecursionError):
            document = json.loads(body)
        if answer.may_pass:
            message = _message(document)
            error = Refused(message) if message else None
            raise TryAgain(answer.described, _NO_ANSWER, error=error)
        if answer.needs_credentials:
            remedy = "set STREAMGAUGE_USER and STREAMGAUGE_PASSWORD, or STREAMGAUGE_TOKEN"
            raise unreachable(self.url, answer.described, remedy)
        if not answer.is_ok:
            location = answer.headers.get("Location")
            leads = f", which leads to {format_value(location)}" if location else ""
            raise self._wrong(f"{answer.described}{leads}")
        if not isinstance(document, dict):
            raise self._wrong(f"{_kind_of(body)} in place of a JSON object")
        return document

    def _wrong(self, what: str) -> SourceUnreachable:
        return unreachable(self.url, what, _WRONG_ADDRESS)


def _message(document: object) -> str:
    """The UI's own words, without the stack trace behind them."""
    if not isinstance(document, dict):
        return ""
    lines = str(document.get("errorMessage") or document.get("error") or "").splitlines()
    return lines[0].strip()[:_SHOWN_MESSAGE] if lines else ""


def _kind_of(body: bytes) -> str:
    start = body[:65_536].lstrip()[:15].lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "an HTML page"
    return f"{len(body):,} bytes that are no JSON" if body else "nothing"
