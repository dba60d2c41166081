"""Servers that metrics are asked of: their addresses, and what to show them."""

from __future__ import annotations

import base64
import os
import urllib.parse
from dataclasses import dataclass
from typing import Final

from streamgauge.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The names of the environment variables that hold the secrets; never the secrets.

    Attributes:
        token: Name of the variable with a token.
        user: Name of the variable with a user's name.
        password: Name of the variable with the user's password.
    """

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
