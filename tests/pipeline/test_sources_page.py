"""What the page on other sources says is what the code does."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.lake.files.mapping_file import _SOURCES, parse_mapping
from streamgauge.lake.http import Credentials, Patience
from streamgauge.lake.mapping import MAPPED_KEYS, TimeUnit
from streamgauge.lake.raw import Rejected, decode
from streamgauge.pipeline.prometheus import MOST_POINTS, read_slice
from streamgauge.pipeline.range_queries import (
    ANSWERS,
    DEFAULT_SLICE_SECONDS,
    RangeRequest,
    TimeRange,
)
from streamgauge.topology.files.document import dump_yaml, parse_document
from tests.pipeline.http_servers import PrometheusServer, PromSeries, serving

START = 1_767_225_600
EXAMPLES = ("csv-wide", "csv-long", "prometheus", "influxdb-1", "influxdb-2")


@pytest.fixture
def page(project):
    return (project / "docs/sources.md").read_text()


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_every_mapping_on_the_page_is_one(page):
    found = [type(parse_mapping(text)).__name__ for text in blocks(page, "yaml")]
    assert found == ["CsvMapping", "CsvMapping", "PrometheusMapping", "InfluxMapping"]


def test_the_python_on_the_page_runs(page, project, monkeypatch, capsys):
    monkeypatch.chdir(project)
    (text,) = blocks(page, "python")
    exec(compile(text, "sources.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all('"topology":"word-count"' in line for line in lines)


def test_every_key_of_a_mapping_has_its_line(page):
    keys = {
        field.alias or name
        for file in _SOURCES.values()
        for name, field in file.model_fields.items()
    }
    rows = re.findall(r"^\| (`.+?) \|", page, re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == keys


def test_the_words_and_numbers_on_the_page_are_those_of_the_code(page):
    listed = page.split("`set` and `columns` may give are")[1].split("A sample takes")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == MAPPED_KEYS
    for unit in TimeUnit:
        assert f"`{unit}`" in page
    assert f"{MOST_POINTS:,} points" in page
    assert DEFAULT_SLICE_SECONDS == 3600
    patience = Patience()
    assert (patience.timeout_seconds, patience.attempts) == (60, 4)
    assert (patience.most_wait_seconds, patience.most_bytes) == (30, 64 * 2**20)
    listed = page.split("The DataFrame has the columns")[1].split(". `line`")[0]
    assert re.findall(r"`(\w+)`", listed) == ANSWERS.names


def test_the_variables_on_the_page_are_looked_at(page, monkeypatch):
    for name in re.findall(r"`(STREAMGAUGE_\w+)`", page):
        monkeypatch.setenv(name, "x")
    assert Credentials.usual() == Credentials(
        token="STREAMGAUGE_TOKEN", user="STREAMGAUGE_USER", password="STREAMGAUGE_PASSWORD"
    )


def test_links_lead_somewhere(page, project):
    for target in re.findall(r"\]\(([^)#]+)", page):
        assert (project / "docs" / target).exists(), target


def series(name, *values, **labels):
    points = tuple((START + 10 * index, value) for index, value in enumerate(values))
    return PromSeries(labels={"__name__": name, "pod": "p", **labels}, points=points)


def test_the_example_for_prometheus_reads_its_series(project):
    task = {"topology": "wc", "component": "a", "task": "3", "stream": "s", "source": "b"}
    worker = {"topology": "wc", "worker": "n1:6700", "node": "n1"}
    with serving(PrometheusServer()) as server:
        server.series = [
            series("stream_tuples_executed_total", 5, 9, **task),
            series("process_cpu_seconds_total", 1.5, 1.75, **worker),
            series("jvm_memory_used_bytes", 1e9, 2e9, **worker),
        ]
        asked = RangeRequest(
            url=server.url,
            period=TimeRange(start_us=(START + 10) * 10**6, end_us=(START + 20) * 10**6),
            received_at_us=(START + 20) * 10**6,
            mapping=(project / "examples/mappings/prometheus.yaml").read_text(),
        )
        answers = list(read_slice(asked, asked.prometheus_mapping(), asked.period))
    found = [decode(answer.outcome) for answer in answers]
    assert not any(isinstance(one, Rejected) for one in found)
    assert [(one.metric, one.value, one.count) for one in found] == [
        ("executed", 4, 4),
        ("executed_total", 9, 9),
        ("worker_cpu", 250_000_000, 1),
        ("heap_used", 2e9, 1),
    ]


def places(value, here=()):
    yield here
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*here, key))


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 9) | st.text("a{}(*", max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abc"), inner, max_size=2),
    max_leaves=4,
)


@given(name=st.sampled_from(EXAMPLES), data=st.data())
def test_no_mistake_in_a_mapping_gives_anything_but_its_problems(pytestconfig, name, data):
    text = (pytestconfig.rootpath / f"examples/mappings/{name}.yaml").read_text()
    document = parse_document(text).data
    place = data.draw(st.sampled_from([one for one in places(document) if one]))
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = data.draw(anything)
    try:
        parse_mapping(dump_yaml(document), "m.yaml")
    except InvalidInput as error:
        assert all(problem.file == "m.yaml" for problem in error.problems)
