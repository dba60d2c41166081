"""Credentials of servers; their addresses are tested with those who ask them."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.lake.http import Credentials, server_url


def test_a_token_comes_before_a_user(monkeypatch):
    for name in ("TOKEN", "USER", "PASSWORD"):
        monkeypatch.setenv(f"STREAMGAUGE_{name}", name.lower())
    assert Credentials.usual().header("Token") == {"Authorization": "Token token"}


def test_a_password_may_have_any_characters_as_it_is_encoded(monkeypatch):
    monkeypatch.delenv("STREAMGAUGE_TOKEN", raising=False)
    monkeypatch.setenv("STREAMGAUGE_USER", "ann")
    monkeypatch.setenv("STREAMGAUGE_PASSWORD", "süß")
    # ann:süß in UTF-8
    assert Credentials.usual().header() == {"Authorization": "Basic YW5uOnPDvMOf"}


def test_a_token_that_no_header_can_have_is_refused_and_not_told(monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_TOKEN", "s3cr\net")
    with pytest.raises(InvalidInput, match="STREAMGAUGE_TOKEN with characters") as caught:
        Credentials.usual().header()
    assert "s3cr" not in str(caught.value)


def test_an_address_with_port_zero_is_none():
    with pytest.raises(InvalidInput, match="ui: http://host:0: no http or https address"):
        server_url("http://host:0", "ui")
