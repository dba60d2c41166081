"""Queries to the HTTP service of a metrics store, and what its refusals mean."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Final

from streamgauge.errors import InvalidInput, Place
from streamgauge.lake.http import Answer, Patience, Request, Sleep, TryAgain, fetch, unreachable

_SHOWN_MESSAGE: Final = 500
_BAD_QUERY = frozenset({400, 422})


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to a metrics store.

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

    def ask(self, patience: Patience, sleep: Sleep = time.sleep) -> IO[bytes]:
        """The whole answer, as a file at its start; the caller closes it.

        Raises:
            SourceUnreachable: No answer, whatever was tried.
            InvalidInput: The server does not understand the query.
            TooLarge: The answer has more bytes than `patience` allows.
        """
        request = Request(
            url=self.url,
            server=self.url,
            body=self.body,
            headers=self.headers,
            follow_redirects=True,
            use_proxies=True,
            when_slow="ask for smaller slices of time, or wait longer",
        )
        return fetch(request, self._judge, patience, sleep)

    def _judge(self, answer: Answer) -> IO[bytes]:
        if answer.is_ok:
            return answer.body
        # On one line, whatever the server sends.
        message = " ".join(self.explain(answer.body.read()).split())
        what = answer.described + (f": {message[:_SHOWN_MESSAGE]}" if message else "")
        if answer.status in _BAD_QUERY:
            raise InvalidInput.single(
                self.place,
                seen=f"{self.url} answered {what}",
                expected="a query that the server takes",
                remedy="correct the query in the mapping, or take smaller slices of time",
            )
        if answer.may_pass:
            remedy = "try later, or with smaller slices of time"
            raise TryAgain(what, remedy, after_seconds=answer.retry_after_seconds)
        remedy = "check the address, and its path before /api or /query"
        if answer.needs_credentials:
            remedy = "name environment variables that hold a token, or a user and password"
        raise unreachable(self.url, what, remedy)


def read_json(text: IO[bytes] | bytes, url: str) -> dict[str, Any]:
    """The object that an answer holds, with numbers as the texts they are written as.

    Raises:
        SourceUnreachable: It holds none.
    """
    try:
        raw = text if isinstance(text, bytes) else text.read()
        document = json.loads(raw, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        what = "an answer that is no JSON object"
        raise unreachable(url, what, "check that this is the address of such a server")
    return document
