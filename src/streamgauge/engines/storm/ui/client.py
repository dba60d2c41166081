"""Asking the REST service of a Storm UI, politely: one question at a time, and never for long.

Time, tries and bytes are bounded. Only the given host is asked: a redirect is an error, not an
instruction. Proxies are not used.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from streamgauge.errors import SourceUnreachable
from streamgauge.lake.servers import server_url
from streamgauge.topology.validation import shown

_PREFIX: Final = "/api/v1"
_PIECE: Final = 65_536
_SHOWN_MESSAGE: Final = 300
_WRONG_ADDRESS: Final = "check that this is the address of a Storm UI"
_SERVER_ERROR: Final = 500
_TOO_MANY: Final = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often to ask.

    Attributes:
        timeout_seconds: For one try, from connecting to the last byte.
        attempts: Tries in all.
        first_wait_seconds: Before the second try; every further wait is twice as long.
        most_bytes: The largest answer.
    """

    timeout_seconds: float = 30.0
    attempts: int = 3
    first_wait_seconds: float = 1.0
    most_bytes: int = 32 * 2**20


USUAL_PATIENCE: Final = Patience()


class Refused(Exception):
    """The UI answers, but says that it cannot do what is asked; its own words."""


class _Again(Exception):
    """A failure that may pass."""


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
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = server_url(url, "ui").removesuffix(_PREFIX)
        parts = urllib.parse.urlsplit(self.url)
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port
        self._path = parts.path + _PREFIX
        self._headers = {"Accept": "application/json", "User-Agent": "streamgauge"}
        self._headers |= headers or {}
        self._patience = patience
        self._sleep = sleep

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """The object that the service answers with.

        Raises:
            SourceUnreachable: No whole answer, whatever was tried, or one that makes no sense.
            Refused: An error that the UI reports itself, with its own words, at every try.
        """
        target = f"{self._path}/{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        wait = self._patience.first_wait_seconds
        for attempt in range(1, self._patience.attempts + 1):
            last = attempt == self._patience.attempts
            try:
                return self._object(*self._answer(target))
            except _Again as again:
                if last:
                    tries = f"{attempt} tries" if attempt > 1 else "one try"
                    remedy = "check the address, and that the UI is up"
                    raise self._unreachable(f"{again} after {tries}", remedy) from None
            except Refused:
                if last:
                    raise
            self._sleep(wait)
            wait *= 2
        raise AssertionError("at least one attempt is made")

    def _answer(self, target: str) -> tuple[http.client.HTTPResponse, bytes]:
        """A response and its whole body."""
        seconds = self._patience.timeout_seconds
        deadline = time.monotonic() + seconds
        connection: http.client.HTTPConnection
        if self._secure:
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=seconds)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        try:
            connection.request("GET", target, headers=self._headers)
            with connection.getresponse() as response:
                return response, self._body(response, deadline)
        except ssl.SSLCertVerificationError as error:
            what = f"its certificate is not trusted: {error.verify_message}"
            raise self._unreachable(what, "make its authority known to this machine") from None
        except TimeoutError:
            raise _Again(f"no whole answer within {seconds:g} s") from None
        except (OSError, http.client.HTTPException, EOFError) as error:
            words = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise _Again(words) from None
        finally:
            connection.close()

    def _body(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        body = bytearray()
        while piece := response.read1(_PIECE):
            body += piece
            if len(body) > self._patience.most_bytes:
                what = f"an answer of more than {self._patience.most_bytes:,} bytes"
                raise self._unreachable(what, _WRONG_ADDRESS)
            if time.monotonic() > deadline:
                raise TimeoutError
        if response.length:
            raise EOFError(f"the answer ended {response.length} bytes too soon")
        return bytes(body)

    def _object(self, response: http.client.HTTPResponse, body: bytes) -> dict[str, Any]:
        """The JSON object in a body, if the service answered at all."""
        status = f"HTTP {response.status} {response.reason or ''}".rstrip()
        found: object = None
        with suppress(ValueError, RecursionError):
            found = json.loads(body)
        if response.status >= _SERVER_ERROR or response.status == _TOO_MANY:
            message = _message(found)
            if message:
                raise Refused(message)
            raise _Again(status)
        if response.status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            remedy = "set STREAMGAUGE_USER and STREAMGAUGE_PASSWORD, or STREAMGAUGE_TOKEN"
            raise self._unreachable(status, remedy)
        if response.status != http.client.OK:
            location = response.headers.get("Location")
            leads = f", which leads to {shown(location)}" if location else ""
            raise self._unreachable(f"{status}{leads}", _WRONG_ADDRESS)
        if not isinstance(found, dict):
            raise self._unreachable(f"{_kind_of(body)} in place of a JSON object", _WRONG_ADDRESS)
        return found

    def _unreachable(self, what: str, remedy: str) -> SourceUnreachable:
        return SourceUnreachable(f"{self.url}: {' '.join(what.split())}; {remedy}")


def _message(found: object) -> str:
    """The UI's own words, without the stack trace behind them."""
    if not isinstance(found, dict):
        return ""
    lines = str(found.get("errorMessage") or found.get("error") or "").splitlines()
    return lines[0].strip()[:_SHOWN_MESSAGE] if lines else ""


def _kind_of(body: bytes) -> str:
    start = body[:_PIECE].lstrip()[:15].lower()
    if start.startswith((b"<!doctype", b"<html")):
        return "an HTML page"
    return f"{len(body):,} bytes that are no JSON" if body else "nothing"
