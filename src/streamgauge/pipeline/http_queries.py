"""Asking a server over HTTP, with patience that ends: time, tries and bytes are all bounded.

An answer is taken whole, on disk where it is large, before anything reads it. So a broken
connection is a reason to ask again, never half an answer.
"""

from __future__ import annotations

import http.client
import io
import json
import ssl
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import IO, Any, Final

from streamgauge.errors import InvalidInput, Place, SourceUnreachable

_PIECE: Final = 65_536
_IN_MEMORY: Final = 8 * 2**20
_MOST_MESSAGE: Final = 65_536
_SHOWN_MESSAGE: Final = 500
_MESSAGE_SECONDS: Final = 5.0
_BAD_QUERY = frozenset({400, 422})
_GZIP_WINDOW: Final = 31
_MOST_REDIRECTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often to ask.

    Attributes:
        timeout_seconds: For one try, from connecting to the last byte.
        attempts: Tries in all.
        first_wait_seconds: Before the second try; every further wait is twice as long.
        most_wait_seconds: The longest wait, whatever the server asks for.
        most_bytes: The largest answer, once it is unpacked.
    """

    timeout_seconds: float = 60.0
    attempts: int = 4
    first_wait_seconds: float = 0.5
    most_wait_seconds: float = 30.0
    most_bytes: int = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to a server.

    Attributes:
        url: Where, without secrets, as messages show it.
        body: What is posted.
        headers: Beside the usual ones; the secrets are here.
        place: Where in the mapping the question stands.
        explain: Finds the server's own words in the body of a refusal.
    """

    url: str
    body: bytes
    headers: Mapping[str, str] = field(repr=False)
    place: Place
    explain: Callable[[bytes], str]


USUAL_PATIENCE: Final = Patience()


class TooLarge(Exception):
    """An answer beyond the bound; a smaller question may have a smaller one."""


class _Again(Exception):
    """A failure that may pass."""

    def __init__(self, what: str, remedy: str, after_seconds: float | None = None) -> None:
        super().__init__(what)
        self.remedy = remedy
        self.after_seconds = after_seconds


def ask(query: Query, patience: Patience, sleep: Callable[[float], None] = time.sleep) -> IO[bytes]:
    """The whole answer to a query, as a file at its start; the caller closes it.

    Raises:
        SourceUnreachable: No answer, whatever was tried.
        InvalidInput: The server does not understand the query.
        TooLarge: The answer has more bytes than `patience` allows.
    """
    wait = patience.first_wait_seconds
    for attempt in range(1, patience.attempts + 1):
        try:
            return _attempt(query, patience)
        except _Again as again:
            if attempt == patience.attempts:
                tries = f"{attempt} tries" if attempt > 1 else "one try"
                raise unreachable(query.url, f"{again} after {tries}", again.remedy) from None
            asked = again.after_seconds
            sleep(min(wait if asked is None else asked, patience.most_wait_seconds))
            wait *= 2
    raise AssertionError("at least one attempt is made")


def read_json(text: IO[bytes] | bytes, url: str) -> dict[str, Any]:
    """The object that an answer holds, with numbers as the texts they are written as.

    Raises:
        SourceUnreachable: It holds none.
    """
    try:
        raw = text if isinstance(text, bytes) else text.read()
        found = json.loads(raw, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        what = "an answer that is no JSON object"
        raise unreachable(url, what, "check that this is the address of such a server")
    return found


def unreachable(url: str, what: str, remedy: str) -> SourceUnreachable:
    """The error that says where, what happened and what to do, on one line."""
    return SourceUnreachable(f"{url}: {' '.join(what.split())}; {remedy}")


def _attempt(query: Query, patience: Patience) -> IO[bytes]:
    deadline = time.monotonic() + patience.timeout_seconds
    request = urllib.request.Request(
        query.url,
        data=query.body,
        headers={"Accept-Encoding": "gzip", "User-Agent": "streamgauge", **query.headers},
        method="POST",
    )
    opener = urllib.request.build_opener(_SameHost)
    sink = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - handed on
    try:
        with opener.open(request, timeout=patience.timeout_seconds) as response:
            _copy(response, sink, patience.most_bytes, deadline)
        sink.seek(0)
    except BaseException as error:
        sink.close()
        raise _judged(error, query, patience) from None
    return sink


def _judged(error: BaseException, query: Query, patience: Patience) -> BaseException:
    """What a failed try means: ask again, or an error for people."""
    if isinstance(error, urllib.error.HTTPError):
        with error:
            return _refusal(error, query)
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, _ForeignRedirect):
        return unreachable(query.url, str(reason), "give the address it leads to, if you trust it")
    if isinstance(reason, ssl.SSLCertVerificationError):
        what = f"its certificate is not trusted: {reason.verify_message}"
        return unreachable(query.url, what, "make its authority known to this machine")
    if isinstance(reason, TimeoutError):
        what = f"no whole answer within {patience.timeout_seconds:g} s"
        return _Again(what, "ask for smaller slices of time, or wait longer")
    broken = OSError | http.client.HTTPException | zlib.error | EOFError
    if isinstance(reason, broken) or isinstance(error, urllib.error.URLError):
        words = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        return _Again(words, "check the address, and that the server is up")
    return error


def _refusal(error: urllib.error.HTTPError, query: Query) -> Exception:
    body = io.BytesIO()
    with suppress(TooLarge, OSError, http.client.HTTPException, zlib.error, EOFError):
        _copy(error, body, _MOST_MESSAGE, time.monotonic() + _MESSAGE_SECONDS)
    # On one line, whatever the server sends.
    message = " ".join(query.explain(body.getvalue()).split())
    what = f"HTTP {error.code} {error.reason or ''}".rstrip()
    what += f": {message[:_SHOWN_MESSAGE]}" if message else ""
    if error.code in _BAD_QUERY:
        return InvalidInput.single(
            query.place,
            seen=f"{query.url} answered {what}",
            expected="a query that the server takes",
            remedy="mend the query in the mapping, or take smaller slices of time",
        )
    if error.code == 429 or error.code >= 500:
        wait = _retry_after(error.headers.get("Retry-After"))
        return _Again(what, "try later, or with smaller slices of time", wait)
    if error.code in {401, 403}:
        remedy = "name environment variables that hold a token, or a user and password"
        return unreachable(query.url, what, remedy)
    return unreachable(query.url, what, "check the address, and its path before /api or /query")


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, which a server gives as such or as a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _copy(response: Any, sink: IO[bytes], most_bytes: int, deadline: float) -> None:
    """All of a response, unpacked; `http.client` does not mind one that ends too soon."""
    announced = response.headers.get("Content-Length")
    packed = (response.headers.get("Content-Encoding") or "").lower() == "gzip"
    unpack = zlib.decompressobj(_GZIP_WINDOW) if packed else None
    taken = kept = 0
    while piece := response.read1(_PIECE):
        taken += len(piece)
        while piece:
            plain = unpack.decompress(piece, _PIECE) if unpack else piece
            piece = unpack.unconsumed_tail if unpack else b""
            kept += len(plain)
            if kept > most_bytes:
                raise TooLarge
            sink.write(plain)
        if time.monotonic() > deadline:
            raise TimeoutError
    if announced is not None and announced.isdecimal() and taken < int(announced):
        raise EOFError(f"the answer ended after {taken} of {announced} bytes")
    if unpack is not None and not unpack.eof:
        raise EOFError("the answer ended before it was whole")


class _ForeignRedirect(OSError):
    """A server that sends us to another one."""


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects within a host, posting the same again; to no other host."""

    max_redirections = _MOST_REDIRECTS

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        same = (new.scheme, new.netloc) == (old.scheme, old.netloc)
        secured = (old.scheme, new.scheme) == ("http", "https") and new.hostname == old.hostname
        if new.username is not None or not (same or secured) or code == 303:
            fp.close()
            raise _ForeignRedirect(f"it leads on to {new.scheme}://{new.hostname}")
        return urllib.request.Request(
            newurl, data=req.data, headers=dict(req.header_items()), method="POST"
        )
