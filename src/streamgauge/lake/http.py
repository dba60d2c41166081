"""The HTTP client of all sources: time, tries and bytes are bounded; addresses and credentials.

An answer is taken whole, on disk where it is large, before anything reads it. So a broken
connection is a reason to ask again, never half an answer. Secrets are never sent to another host.
"""

from __future__ import annotations

import base64
import os
import ssl
import tempfile
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from typing import IO, Final, TypeVar

import httpx2

from streamgauge.errors import InvalidInput, SourceUnreachable

Sleep = Callable[[float], None]
Result = TypeVar("Result")

_IN_MEMORY_BYTES: Final = 8 * 2**20
_PIECE_BYTES: Final = 65_536
_MOST_MESSAGE_BYTES: Final = 2**20
_MESSAGE_SECONDS: Final = 5.0
_MOST_REDIRECTS: Final = 5
_GZIP_WINDOW: Final = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often to ask.

    Attributes:
        timeout_seconds: For one try, from connecting to the last byte.
        first_wait_seconds: Before the second try; every further wait is twice as long.
        most_wait_seconds: The longest wait, whatever the server asks for.
        most_bytes: The largest answer, once it is unpacked.
    """

    timeout_seconds: float = 60.0
    attempts: int = 4
    first_wait_seconds: float = 0.5
    most_wait_seconds: float = 30.0
    most_bytes: int = 64 * 2**20


USUAL_PATIENCE: Final = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a server.

    Attributes:
        url: Where, without secrets.
        server: What messages call the server.
        body: What is posted; without one the URL is only read.
        headers: Beside the usual ones; the secrets are here.
        follow_redirects: Whether to follow redirects within the host; to another host never.
        use_proxies: Whether the proxies that the environment names are used.
        when_down: What to do where nobody answers.
        when_slow: What to do where the answer takes too long.
    """

    url: str
    server: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    follow_redirects: bool = False
    use_proxies: bool = False
    when_down: str = "check the address, and that the server is up"
    when_slow: str = "check the address, and that the server is up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server sent, whole; of an error no more than its message.

    Attributes:
        body: Unpacked, as a file at its start; whoever takes it closes it.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    body: IO[bytes]

    @property
    def is_ok(self) -> bool:
        """Whether the body is what was asked for."""
        return self.status == HTTPStatus.OK

    @property
    def may_pass(self) -> bool:
        """Whether the same question may be answered later."""
        return self.status >= 500 or self.status == HTTPStatus.TOO_MANY_REQUESTS

    @property
    def needs_credentials(self) -> bool:
        """Whether the server wants to know who asks."""
        return self.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)

    @property
    def described(self) -> str:
        """The status in words."""
        return f"HTTP {self.status} {self.reason}".rstrip()

    @property
    def retry_after_seconds(self) -> float | None:
        """How long the server wants us to wait, which it gives in seconds or as a date."""
        value = self.headers.get("Retry-After")
        if value is None:
            return None
        if value.strip().isdecimal():
            return float(value)
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except ValueError:
            return None


class TooLarge(Exception):
    """An answer beyond the bound; a smaller question may have a smaller one."""


class TryAgain(Exception):
    """A failure that may pass.

    Args:
        what: What happened.
        remedy: What to do where it does not pass.
        after_seconds: How long the server wants us to wait.
        error: What to raise after the last try, in place of `SourceUnreachable`.
    """

    def __init__(
        self,
        what: str,
        remedy: str = "",
        *,
        after_seconds: float | None = None,
        error: Exception | None = None,
    ) -> None:
        super().__init__(what)
        self.remedy = remedy
        self.after_seconds = after_seconds
        self.error = error


def fetch(
    request: Request,
    judge: Callable[[Answer], Result],
    patience: Patience,
    sleep: Sleep = time.sleep,
) -> Result:
    """What `judge` makes of the answer to a request, after as many tries as it takes.

    `judge` raises `TryAgain` for an answer that is worth another try.

    Raises:
        SourceUnreachable: No answer, whatever was tried.
        TooLarge: The answer has more bytes than `patience` allows.
    """
    wait = patience.first_wait_seconds
    for attempt in range(1, patience.attempts + 1):
        try:
            return _judged(_ask_once(request, patience), judge)
        except TryAgain as failure:
            if attempt == patience.attempts:
                tries = f"{attempt} tries" if attempt > 1 else "one try"
                what = f"{failure} after {tries}"
                raise failure.error or unreachable(request.server, what, failure.remedy) from None
            pause = wait if failure.after_seconds is None else failure.after_seconds
            sleep(min(pause, patience.most_wait_seconds))
            wait *= 2
    raise AssertionError("at least one attempt is made")


def unreachable(server: str, what: str, remedy: str) -> SourceUnreachable:
    """The error that says where, what happened and what to do, on one line."""
    return SourceUnreachable(f"{server}: {' '.join(what.split())}; {remedy}")


def _judged(answer: Answer, judge: Callable[[Answer], Result]) -> Result:
    try:
        return judge(answer)
    except BaseException:
        answer.body.close()
        raise


def _ask_once(request: Request, patience: Patience) -> Answer:
    deadline = time.monotonic() + patience.timeout_seconds
    body = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115 - handed on
    try:
        with (
            _failures_explained(request, patience),
            _client(request, patience) as client,
            closing(_send(client, request)) as response,
        ):
            if response.status_code == HTTPStatus.OK:
                _copy(response, body, patience.most_bytes, deadline)
            else:
                with suppress(TooLarge, TimeoutError, EOFError, zlib.error, httpx2.HTTPError):
                    _copy(response, body, _MOST_MESSAGE_BYTES, time.monotonic() + _MESSAGE_SECONDS)
        body.seek(0)
    except BaseException:
        body.close()
        raise
    return Answer(
        status=response.status_code,
        reason=response.reason_phrase,
        headers=response.headers,
        body=body,
    )


def _client(request: Request, patience: Patience) -> httpx2.Client:
    return httpx2.Client(
        verify=_trusted(), timeout=patience.timeout_seconds, trust_env=request.use_proxies
    )


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities that this machine trusts; reading them takes longer than a request."""
    return ssl.create_default_context()


def _send(client: httpx2.Client, request: Request) -> httpx2.Response:
    """The response to a request, its body not yet read."""
    headers = {"Accept-Encoding": "gzip", "User-Agent": "streamgauge", **request.headers}
    method = "GET" if request.body is None else "POST"
    url = httpx2.URL(request.url)
    for _ in range(_MOST_REDIRECTS + 1):
        built = client.build_request(method, url, content=request.body, headers=headers)
        response = client.send(built, stream=True)
        if not (request.follow_redirects and response.has_redirect_location):
            return response
        response.close()
        url = _redirected(request, url, response)
    what = f"more than {_MOST_REDIRECTS} redirects"
    raise unreachable(request.server, what, "give the address that the redirects lead to")


def _redirected(request: Request, old: httpx2.URL, response: httpx2.Response) -> httpx2.URL:
    """Where a redirect leads: within the host only, to ask the same again."""
    new = old.join(response.headers["Location"])
    same = (new.scheme, new.netloc) == (old.scheme, old.netloc)
    secured = (old.scheme, new.scheme) == ("http", "https") and new.host == old.host
    asks_otherwise = response.status_code == HTTPStatus.SEE_OTHER
    if new.userinfo or not (same or secured) or asks_otherwise:
        what = f"it redirects to {new.scheme}://{new.host}"
        raise unreachable(request.server, what, "give the address it leads to, if you trust it")
    return new


@contextmanager
def _failures_explained(request: Request, patience: Patience) -> Iterator[None]:
    """Say what a failure on the way to an answer means."""
    try:
        yield
    except (httpx2.TimeoutException, TimeoutError):
        what = f"no whole answer within {patience.timeout_seconds:g} s"
        raise TryAgain(what, request.when_slow) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError, zlib.error, EOFError) as error:
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                what = f"its certificate is not trusted: {cause.verify_message}"
                remedy = "make its authority known to this machine"
                raise unreachable(request.server, what, remedy) from None
        said = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
        what = said[0] if said else str(error) or type(error).__name__
        raise TryAgain(what, request.when_down) from None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what led to it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _copy(response: httpx2.Response, sink: IO[bytes], most_bytes: int, deadline: float) -> None:
    """All of a response's body, unpacked piece by piece.

    The library's own unpacking would take a packed body that ends too soon for a whole one.
    """
    packed = response.headers.get("Content-Encoding", "").lower() == "gzip"
    unpack = zlib.decompressobj(_GZIP_WINDOW) if packed else None
    kept = 0
    for piece in response.iter_raw():
        while piece:
            plain = unpack.decompress(piece, _PIECE_BYTES) if unpack else piece
            piece = unpack.unconsumed_tail if unpack else b""  # noqa: PLW2901
            kept += len(plain)
            if kept > most_bytes:
                raise TooLarge
            sink.write(plain)
        if time.monotonic() > deadline:
            raise TimeoutError
    if unpack is not None and not unpack.eof:
        raise EOFError("the answer ended before it was whole")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The names of the environment variables that hold the secrets; never the secrets."""

    token: str = ""
    user: str = ""
    password: str = ""

    def header(self, scheme: str = "Bearer") -> dict[str, str]:
        """The header that shows them; `scheme` is what the server calls a token.

        Raises:
            InvalidInput: A variable is not set, or holds what no header can have.
        """
        if self.token:
            return {"Authorization": f"{scheme} {_as_it_is(self.token)}"}
        if self.user:
            password = _secret(self.password) if self.password else ""
            pair = f"{_secret(self.user)}:{password}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        return {}

    @classmethod
    def usual(cls) -> Credentials:
        """Those of the variables that our commands look at which are set."""
        names = {key: f"STREAMGAUGE_{key.upper()}" for key in ("token", "user", "password")}
        return cls(**{key: name for key, name in names.items() if os.environ.get(name)})


NO_CREDENTIALS: Final = Credentials()


def server_url(url: str, place: str = "url") -> str:
    """The address of a server, fit to be shown and added to; `place` is where it was given.

    Raises:
        InvalidInput: It is no http or https address, or holds more than that.
    """

    def bad(shown: str, seen: str, remedy: str = "") -> InvalidInput:
        what = f"{shown}: {seen}"
        expected = "the address of a server"
        return InvalidInput.single((place,), seen=what, expected=expected, remedy=remedy)

    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise bad(url.rsplit("@", maxsplit=1)[-1], str(error)) from None
    if parts.username is not None or parts.password is not None:
        remedy = "put them into environment variables, such as STREAMGAUGE_USER"
        raise bad(f"{parts.scheme}://…@{parts.hostname}", "a name or password in it", remedy)
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        raise bad(url, "no http or https address", "such as http://host:8080")
    if parts.query or parts.fragment:
        raise bad(url.partition("?")[0], "a part behind ? or #", "give the address only")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise bad(url, "characters that an address cannot have")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def _secret(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise InvalidInput.single(
            (),
            seen=f"no environment variable {name}",
            expected="a variable that holds the secret",
            remedy="set it, for Spark's executors too where they are on other machines",
        )
    return value


def _as_it_is(name: str) -> str:
    """A secret that stands in a header as it is; others are encoded."""
    value = _secret(name)
    if not value.isprintable() or not value.isascii():
        seen = f"environment variable {name} with characters that no header can have"
        raise InvalidInput.single((), seen=seen, expected="printable ASCII")
    return value
