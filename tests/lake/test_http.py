"""What the HTTP client does with answers that its two callers never see in their own tests."""

import gzip

import pytest

from streamgauge.errors import SourceUnreachable
from streamgauge.lake.http import Patience, Request, fetch
from tests.pipeline.http_servers import Fault, Reply, Server, serving

HASTE = Patience(timeout_seconds=10.0, attempts=2, first_wait_seconds=0.0)


class Echo(Server):
    def reply(self, path, form):
        return Reply(200, b"the whole answer")


@pytest.fixture
def server():
    with serving(Echo()) as running:
        running.zipped = False
        yield running


def whole(answer):
    with answer.body as file:
        return file.read()


def ask(url, **options):
    request = Request(url=url, server=url, **options)
    return fetch(request, whole, HASTE, sleep=lambda _: None)


def test_a_packed_answer_that_ends_too_soon_is_asked_for_again(server):
    half = gzip.compress(b"the whole answer")[:-9]
    server.faults.append(Fault(body=half, headers={"Content-Encoding": "gzip"}))
    assert ask(server.url) == b"the whole answer"
    assert len(server.asked) == 2


def test_redirects_that_never_end_are_given_up(server):
    again = Fault(status=307, headers={"Location": "/again"})
    server.faults.extend([again] * 6)
    with pytest.raises(SourceUnreachable, match="more than 5 redirects"):
        ask(server.url, follow_redirects=True)
    assert len(server.asked) == 6


@pytest.mark.parametrize(
    "location", ["http://ann:secret@127.0.0.1/", "ftp://127.0.0.1/", "//other"]
)
def test_a_redirect_to_elsewhere_is_named_without_its_secrets(server, location):
    server.faults.append(Fault(status=302, headers={"Location": location}))
    with pytest.raises(SourceUnreachable, match="it redirects to") as caught:
        ask(server.url, follow_redirects=True)
    assert "secret" not in str(caught.value)


def test_proxies_of_the_environment_are_used_only_where_that_is_wanted(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert ask(server.url) == b"the whole answer"
    with pytest.raises(SourceUnreachable, match="refused after 2 tries"):
        ask(server.url, use_proxies=True)


@pytest.mark.parametrize("host", ["a" * 70, "xn--\u00e4", "no.such.host.invalid"])
def test_a_host_that_cannot_be_is_unreachable(host):
    with pytest.raises(SourceUnreachable, match="check the address"):
        ask(f"http://{host}:8080/")
