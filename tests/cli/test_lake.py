"""``streamgauge lake``: what is there, upkeep, questions, quarantine."""

import json
import os
import re
import shlex
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamgauge.cli import lake_quarantine
from streamgauge.drawing.text_picture import draw_sparkline
from streamgauge.errors import InvalidInput
from streamgauge.lake.questions import read_length
from streamgauge.lake.tables import Lake
from streamgauge.reports.lake import show_figure, show_size
from tests.lake.small_lakes import (
    NOON,
    RECEIPT,
    after,
    heartbeat,
    lake_of,
    put,
    refused,
    sample,
    write,
)

COMMANDS = (
    ("info",),
    ("compact",),
    ("vacuum",),
    ("history",),
    ("query", "executed"),
    ("quarantine",),
)


@pytest.fixture
def lake(tmp_path):
    """Two topologies, a plan, four lines in quarantine, three source files."""
    rows = [sample("executed", 10 * n, 10 * (n + 1), task=1 + n % 2) for n in range(12)]
    rows += [heartbeat(10 * n) for n in range(12)]
    made = lake_of(tmp_path / "lake", *rows, sample("executed", 0, 5, topology="ads", cluster="x"))
    plan = {"topology": "words", "plan_id": "p1", "engine": "storm-2", "valid_from": NOON}
    put(made.table("plans"), [RECEIPT | plan | {"document": "{}", "executors": []}])
    landing = tmp_path / "landing"
    landing.mkdir()
    (landing / "bad.jsonl").write_bytes(b"fine\nbroken\n\xff\xfe\n")
    here = {"file": str(landing / "bad.jsonl")}
    lines = [
        refused(b"broken", **here),
        refused(b"\xff\xfe", "not-utf8", **here),
        refused(b"other"),
        refused(b"long" * 1000),
    ]
    put(made.table("quarantine"), lines)
    source = {"bytes": 1000, "modified_at": NOON, "rows": 7}
    names = ("/landing/a.jsonl", "/landing/b.jsonl")
    put(made.table("files"), [RECEIPT | source | {"file": name} for name in names])
    put(made.table("files"), [RECEIPT | source | {"file": "/landing/c.jsonl", "fault": "cut"}])
    return made


def document(outcome):
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["schema_version"] == 1
    return found


# What is there.


def test_info_has_figures_of_tables_topologies_quarantine_and_sources(run, lake):
    found = document(run("lake", "info", "--lake", lake.uri, "--json"))
    tables = {one["name"]: one for one in found["tables"]}
    assert (tables["samples"]["rows"], tables["samples"]["files"]) == (25, 1)
    assert tables["samples"]["first"] == NOON.isoformat()
    assert tables["samples"]["last"] == after(110).isoformat()
    assert tables["links"]["version"] is None
    words, ads = found["topologies"]
    assert (words["topology"], words["samples"], words["plans"]) == ("words", 24, 1)
    assert (ads["topology"], ads["cluster"], ads["plans"]) == ("ads", "x", 0)
    assert found["quarantine"] == {"not-json": 3, "not-utf8": 1}
    assert found["sources"] == {"files": 3, "lines": 21, "bytes": 3000, "faults": 1}


def test_info_for_people_fits_a_hundred_columns(run, lake):
    shown = run("lake", "info", "--lake", lake.uri)
    assert shown.code == 0
    assert "2 topologies" in shown.out
    assert "Sources: 3 files of 21 lines, 2.9 KiB; 1 read only in part" in shown.out
    assert max(len(line.rstrip()) for line in shown.out.splitlines()) <= 100
    assert shown.err == ""


def test_of_many_topologies_those_with_the_most_samples_are_listed(run, lake):
    found = document(run("lake", "info", "--lake", lake.uri, "--limit", 1, "--json"))
    assert found["topology_count"] == 2
    assert [one["topology"] for one in found["topologies"]] == ["words"]
    shown = run("lake", "info", "--lake", lake.uri, "--limit", 1).out
    assert "2 topologies; the 1 with the most samples" in shown


def test_a_source_that_was_read_again_is_one_source(run, lake):
    newer = {"received_at": after(1e7), "file": "/landing/c.jsonl", "modified_at": NOON}
    put(lake.table("files"), [newer | {"bytes": 2000, "rows": 9}])
    found = document(run("lake", "info", "--lake", lake.uri, "--json"))["sources"]
    assert found == {"files": 3, "lines": 23, "bytes": 4000, "faults": 0}


def test_info_names_compaction_where_files_are_small(run, lake, monkeypatch):
    monkeypatch.setattr("streamgauge.lake.contents.MANY_SMALL_FILES", 2)
    for n in range(2):
        put(lake.table("samples"), [sample("executed", 200 + n, 1)])
    said = run("lake", "info", "--lake", lake.uri).err
    assert "samples: 2 of 3 files are small" in said
    assert f"`streamgauge lake compact --table samples --lake {lake.uri}`" in said


# Upkeep.


def test_compact_says_how_many_files_there_were_and_are(run, lake):
    put(lake.table("samples"), [sample("executed", 500, 1)])
    (done,) = document(run("lake", "compact", "--lake", lake.uri, "--table", "samples", "--json"))[
        "compact"
    ]
    assert (done["files_before"], done["files_after"], done["rows"]) == (2, 1, 26)
    shown = run("lake", "compact", "--lake", lake.uri)
    assert shown.code == 0
    assert lake.table("files").snapshot().rows == 3


def test_history_has_versions_of_all_tables_the_newest_first(run, lake):
    found = document(run("lake", "history", "--lake", lake.uri, "--json"))["history"]
    assert [one["time"] for one in found] == sorted((one["time"] for one in found), reverse=True)
    assert (found[0]["table"], found[0]["note"], found[0]["rows_added"]) == ("files", "ingest", 1)
    limited = run("lake", "history", "--lake", lake.uri, "--table", "samples", "--limit", 1)
    assert "+25" in limited.out
    assert "CREATE" not in limited.out


def test_vacuum_lists_first_and_removes_then(run, lake):
    folder = Path(lake.table("samples").uri, write(lake.table("samples"), [sample("acked", 0, 1)]))
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (0, 0))
    listed = document(run("lake", "vacuum", "--lake", lake.uri, "--dry-run", "--json"))["vacuum"]
    assert len(listed["files"]) == 1
    assert folder.exists()
    removed = run("lake", "vacuum", "--lake", lake.uri)
    assert "samples" in removed.out
    assert not folder.exists()
    assert run("lake", "vacuum", "--lake", lake.uri).out == "nothing to remove\n"


def test_vacuum_refuses_less_than_an_hour(run, lake):
    refusal = run("lake", "vacuum", "--lake", lake.uri, "--older-than", 0.5)
    assert refusal.code == 2
    assert "0.5 hours; expected at least 1" in refusal.err
    assert run("lake", "vacuum", "--lake", lake.uri, "--older-than", 0.5, "--force").code == 0


# Questions.


def ask(run, lake, *words):
    return document(run("lake", "query", *words, "--lake", lake.uri, "--json"))["query"]


def test_a_query_states_unit_and_sample_size(run, lake):
    found = ask(run, lake, "executed", "--topology", "words")
    assert (found["measure"], found["unit"]) == ("rate", "tuples/s")
    assert (found["samples"], found["observations"]) == (12, 780)
    ((window,),) = [one["windows"] for one in found["series"]]
    assert (window["total"], window["seconds"], window["value"]) == (780, 120, 6.5)
    shown = run("lake", "query", "executed", "--topology", "words", "--lake", lake.uri).out
    assert "rate in tuples/s; 12 samples, 780 observations" in shown


def test_a_query_is_split_by_columns_and_windows(run, lake):
    found = ask(run, lake, "executed", "--topology=words", "--by", "task", "--window", "1m")
    by_task = {
        one["by"]["task"]: [window["total"] for window in one["windows"]] for one in found["series"]
    }
    assert by_task == {1: [90, 270], 2: [120, 300]}


def test_a_query_takes_a_period_and_names(run, lake):
    period = ("--from", "2026-01-01T12:00:20Z", "--to", "2026-01-01T13:00:40+01:00")
    found = ask(run, lake, "executed", *period, "--task", 1, "--worker", "node-1:6700")
    assert found["series"][0]["windows"][0]["total"] == 30


def test_a_median_is_the_half_quantile(run, lake):
    median = ask(run, lake, "executed", "--median")
    assert median == ask(run, lake, "executed", "--quantile", 0.5)
    assert median["probability"] == 0.5


def test_a_series_is_drawn(run, lake):
    words = ("executed", "--topology", "words", "--series")
    shown = run("lake", "query", *words, "--lake", lake.uri)
    assert "▁▂▂▃▄▄▅▅▆▇▇█" in shown.out
    assert "least 1.00, most 12.0, last 12.0" in shown.out
    split = run("lake", "query", *words, "--by", "component,task", "--lake", lake.uri).out
    assert len([line for line in split.splitlines() if line.startswith(" splitter")]) == 2


def test_a_query_without_rows_leaves_with_five(run, lake):
    nothing = run("lake", "query", "failed", "--lake", lake.uri, "--json")
    assert nothing.code == 5
    assert json.loads(nothing.out)["error"]["code"] == "not-enough-data"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("exectued",), "did you mean 'executed'?"),
        (("executed", "--window", "5"), "'5'; expected a number and ms, s, m, h or d"),
        (("executed", "--from", "yesterday"), "from: 'yesterday'"),
        (("executed", "--by", "tsk"), "'tsk', which executed does not have"),
        (("executed", "--mean", "--median"), "one of --mean, --median, --quantile"),
        (("executed", "--quantile", "2"), "a number from 0 to 1"),
        (("executed", "--version", "99"), "a version that is still kept"),
        (("execute_latency_sum", "--median"), "ask for execute_latency_bin"),
    ],
)
def test_a_wrong_question_says_what_is_wrong(run, lake, words, said):
    outcome = run("lake", "query", *words, "--lake", lake.uri)
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.out == ""


# Quarantine.


def test_quarantine_counts_by_reason_and_file(run, lake):
    found = document(run("lake", "quarantine", "--lake", lake.uri, "--json"))["quarantine"]
    assert found["reasons"] == {"not-json": 3, "not-utf8": 1}
    assert [one["lines"] for one in found["files"]] == [2, 1, 1]
    assert "lines" not in found


def test_quarantine_is_narrowed_by_reason_and_the_end_of_a_file(run, lake):
    words = ("--reason", "not-json", "--file", "landing/bad.jsonl", "--show", "--json")
    found = document(run("lake", "quarantine", "--lake", lake.uri, *words))["quarantine"]
    assert [one["raw"] for one in found["lines"]] == ["broken"]
    none = run("lake", "quarantine", "--lake", lake.uri, "--file", "ding/bad.jsonl")
    assert none.out == "no such lines are in quarantine\n"


def test_lines_are_shown_as_they_came(run, lake):
    words = ("quarantine", "--lake", lake.uri, "--show")
    shown = run("lake", *words).out
    assert "not-json: seen and expected\n    broken\n" in shown
    assert "… (4,000 bytes)" in shown
    found = document(run("lake", *words, "--json"))["quarantine"]["lines"]
    (no_text,) = [one for one in found if one["reason"] == "not-utf8"]
    assert (no_text["raw"], no_text["raw_base64"]) == ("\\xff\\xfe", "//4=")


def test_a_limit_bounds_the_lines(run, lake):
    shown = run("lake", "quarantine", "--lake", lake.uri, "--show", "--limit", 1)
    assert len(shown.out.splitlines()) == 2
    assert "and 3 more; --limit 0 shows all" in shown.err


def test_lines_are_located_in_their_files(run, lake):
    shown = run("lake", "quarantine", "--lake", lake.uri, "--locate")
    assert "bad.jsonl:2: not-json" in shown.out
    assert "bad.jsonl:3: not-utf8" in shown.out
    assert "a.jsonl: not found: not-json" in shown.out
    assert "warning: /landing/a.jsonl: FileNotFoundError" in shown.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--reason", "not-jsn"), "did you mean 'not-json'?"),
        (("--retry", "--show"), "all lines are tried"),
        (("--received-at", "2026-01-01T00:00:00Z"), "no --retry"),
        (("--retry", "--received-at", "now"), "received_at: 'now'"),
    ],
)
def test_wrong_options_of_quarantine_are_refused(run, lake, words, said):
    outcome = run("lake", "quarantine", "--lake", lake.uri, *words)
    assert outcome.code == 2
    assert said in outcome.err


def test_retry_takes_lines_back_by_spark(run, lake, monkeypatch):
    from streamgauge.pipeline.ingest import retrying, tally

    asked = []

    @contextmanager
    def session(*settings):
        asked.append(settings)
        yield "spark"

    def retry(spark, where, *, received_at, mapping, say):
        asked.append((spark, where.uri, received_at, mapping))
        say("2 lines are valid now")
        return tally.Tally(lines=2, taken={"samples": 2}, released=2)

    monkeypatch.setattr(lake_quarantine, "spark_session", session)
    monkeypatch.setattr(retrying, "retry", retry)
    words = ("--retry", "--received-at", "2026-01-02T00:00:00Z", "--master", "local[1]")
    outcome = run("lake", "quarantine", "--lake", lake.uri, *words, "--json")
    assert asked == [
        ("retry", "local[1]", None, None),
        ("spark", lake.uri, datetime(2026, 1, 2, tzinfo=UTC), None),
    ]
    assert document(outcome)["ingest"]["released"] == 2
    assert outcome.err == "2 lines are valid now\n"


# What can be wrong everywhere.


@pytest.mark.parametrize("words", COMMANDS)
def test_a_place_without_tables_is_no_lake(run, tmp_path, words):
    outcome = run("lake", *words, "--lake", tmp_path)
    assert outcome.code == 2
    assert "no tables; expected a lake" in outcome.err


@pytest.mark.parametrize("words", COMMANDS)
def test_a_file_that_is_gone_is_no_fault_of_ours(run, lake, words):
    put(lake.table("samples"), [sample("executed", 500, 1)])
    for file in Path(lake.uri).rglob("*.parquet"):
        file.unlink()
    outcome = run("lake", *words, "--lake", lake.uri)
    assert "internal error" not in outcome.err
    assert outcome.code == (0 if words in (("vacuum",), ("history",)) else 2)


def test_an_unknown_table_is_answered_with_a_near_one(run, lake):
    for command in ("compact", "history"):
        outcome = run("lake", command, "--lake", lake.uri, "--table", "sample")
        assert outcome.code == 2
        assert "did you mean 'samples'?" in outcome.err


def test_a_lake_of_no_samples_has_info_too(run, tmp_path):
    put(Lake(tmp_path).table("quarantine"), [refused(b"x")])
    found = document(run("lake", "info", "--lake", tmp_path, "--json"))
    assert (found["topology_count"], found["topologies"]) == (0, [])


# Figures.


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("30s", 30), ("5m", 300), ("1.5h", 5400), ("2d", 172800)]
)
def test_lengths_of_time_are_read(text, seconds):
    assert read_length(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "-5m", "5 m", "5M", "1e3s", "∞s"])
def test_other_lengths_are_refused(text):
    with pytest.raises(InvalidInput, match="window"):
        read_length(text)


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 2**30, "5.0 GiB")]
)
def test_sizes_have_the_unit_that_fits(number, shown):
    assert show_size(number) == shown


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, "ns", "–"),
        (1500.0, "ns", "1.50 µs"),
        (-1500.0, "ns", "−1.50 µs"),
        (2.5e8, "ns/s", "0.250"),
        (0.00012, "tuples/s", "0.00012"),
        (0.0, "tuples", "0"),
    ],
)
def test_figures_are_short(value, unit, shown):
    assert show_figure(value, unit) == shown


def test_bars_go_from_the_least_to_the_most():
    assert draw_sparkline([1.0, None, 8.0, 4.0], 60) == "▁ █▄"
    assert draw_sparkline([3.0, 3.0], 60) == "▄▄"
    assert draw_sparkline([None], 60) == " "
    assert draw_sparkline([0.0, 2.0, 6.0, 8.0], 2) == "▁█"


# Damage.


def test_repair_names_damaged_files_and_the_sources_to_take_again(run, lake):
    (file,) = lake.table("samples").snapshot().files
    path = Path(lake.uri, "samples", file.path)
    path.write_bytes(path.read_bytes()[:-20])
    asked = run("lake", "query", "executed", "--lake", lake.uri)
    assert asked.code == 2
    assert f"see `streamgauge lake repair --dry-run --lake {lake.uri}`" in asked.err
    shown = run("lake", "repair", "--dry-run", "--lake", lake.uri)
    assert shown.code == 0
    assert "Damaged; nothing was changed" in shown.out
    assert "/landing/a.jsonl: no such file; rows that only it held are lost" in shown.err
    done = document(run("lake", "repair", "--lake", lake.uri, "--json"))["repair"]
    assert done["dry_run"] is False
    assert [(one["table"], one["rows"]) for one in done["damage"]] == [("samples", file.rows)]
    assert done["sources"] == done["gone"] == ["/landing/a.jsonl"]
    assert run("lake", "repair", "--lake", lake.uri).out == "no damaged files\n"


def test_only_a_lake_is_repaired(run, tmp_path):
    shown = run("lake", "repair", "--lake", tmp_path / "none")
    assert shown.code == 2
    assert "no tables; expected a lake" in shown.err


# The page.


def blocks(project, language):
    page = (project / "docs/lake.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_commands_of_the_page_work(run, lake, project, monkeypatch, tmp_path):
    put(lake.table("samples"), [sample("execute_latency_sum", 0, 500, count=5)])
    put(lake.table("samples"), [sample("execute_latency_bin", 0, 5, bin=80)])
    put(lake.table("samples"), [sample("heap_used", 0, 500, component=None, task=None)])
    monkeypatch.chdir(tmp_path)
    commands = [
        shlex.split(line.removeprefix("$ streamgauge "))
        for text in blocks(project, "console")
        for line in text.splitlines()
    ]
    names = {"repair", *(words[0] for words in COMMANDS)}
    assert {words[1] for words in commands} == names
    for words in commands:
        outcome = run(*words)
        assert outcome.code == 0, (words, outcome.err)


def test_python_of_the_page_runs(lake, project, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    for text in blocks(project, "py"):
        exec(compile(text, "docs/lake.md", "exec"), {})
    shown = capsys.readouterr().out
    assert "[('splitter', 785.0)]" in shown
    assert "{'task': 2} [" in shown
