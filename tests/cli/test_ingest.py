"""``streamgauge ingest``: what it refuses before Spark starts, and what it prints."""

import json

import pytest

from streamgauge.lake.tables import Lake
from tests.pipeline.ingest.deliveries import line

TIMES = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T01:00:00Z")
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_other_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lines(tmp_path):
    """A file of two samples, of which one comes twice, and a line that is none."""
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"\n".join([line(1, 5), line(2, 7), line(1, 5), b"not a line"]) + b"\n")
    return path


def refusal(run, *arguments):
    shown = run("ingest", *arguments, "--lake", "lake")
    assert (shown.code, shown.out) == (2, "")
    assert not Lake("lake").tables()[0].snapshot().files
    return shown.err


def test_a_source_that_is_not_there_is_named(run, tmp_path):
    said = refusal(run, "nowhere")
    assert said == (
        f"error: {tmp_path}/nowhere: no such file or folder; expected one that exists\n"
    )


def test_a_folder_without_metrics_says_which_endings_were_looked_for(run, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".half.jsonl").write_text("")
    (tmp_path / "folder" / "notes.txt").write_text("")
    said = refusal(run, "folder")
    assert "folder: no files of metrics" in said
    assert "names end in .jsonl, .jsonl.gz, .parquet" in said


def test_a_time_needs_its_zone(run, lines):
    for time in ("yesterday", "2026-01-01T00:00:00"):
        said = refusal(run, lines, "--received-at", time)
        assert f"received_at: '{time}'; expected a time with its zone" in said


def test_a_setting_needs_a_name_and_a_value(run, lines):
    for setting in ("spark.driver.memory", "=1g"):
        said = refusal(run, lines, "--conf", setting)
        assert f"conf: '{setting}'; expected KEY=VALUE" in said


def test_a_file_of_settings_is_read_line_by_line(run, lines, tmp_path):
    config = tmp_path / "spark.conf"
    config.write_text("# ours\nspark.driver.memory 1g\nspark.executor.memory\n")
    said = refusal(run, lines, "--config", config)
    assert f"{config}:3: 'spark.executor.memory'; expected a name and a value" in said
    assert "expected a file of settings" in refusal(run, lines, "--config", "none.conf")


def test_mistakes_in_a_mapping_come_with_their_lines(run, tmp_path):
    (tmp_path / "m.yaml").write_text("mapping: 1\nsource: csv\nset: {topolgy: words}\n")
    (tmp_path / "x.csv").write_text("a,b\n")
    said = refusal(run, "x.csv", "--mapping", "m.yaml")
    assert "m.yaml:3: set.topolgy: unknown key 'topolgy'" in said
    assert "(did you mean 'topology'?)" in said
    assert "m.yaml: metrics: nothing; expected the metric of each column or name" in said


def test_a_mapping_that_is_not_there_is_named(run, lines):
    assert "none.yaml: no such file" in refusal(run, lines, "--mapping", "none.yaml")


def test_a_metrics_store_needs_a_mapping_and_both_times(run):
    assert "mapping: no --mapping; expected one (see docs/sources.md)" in refusal(
        run, NOWHERE, *TIMES
    )
    said = refusal(run, NOWHERE, NOWHERE, *TIMES[:2])
    assert "sources: 2 sources; expected one URL at a time" in said
    assert "from: no --from and --to; expected both" in said


def test_a_metrics_store_that_does_not_answer_is_4(run, project, monkeypatch):
    # One try is as good as four where nobody listens.
    monkeypatch.setattr("time.sleep", lambda _: None)
    mapping = project / "examples" / "mappings" / "prometheus.yaml"
    shown = run("ingest", NOWHERE, "--mapping", mapping, *TIMES, "--lake", "lake")
    assert shown.code == 4
    assert NOWHERE in shown.err
    assert "Traceback" not in shown.err


def test_one_folder_is_followed_at_a_time(run, tmp_path):
    said = refusal(run, tmp_path, tmp_path, "--follow")
    assert "sources: 2 sources; expected one folder to follow" in said


def test_an_error_is_a_document_where_documents_are_wanted(run):
    shown = run("ingest", "nowhere", "--lake", "lake", "--json")
    assert shown.code == 2
    found = json.loads(shown.out)
    assert found["schema_version"] == 1
    assert found["error"]["code"] == "unreadable-file"


def test_the_lake_must_be_named(run):
    shown = run("ingest", "nowhere")
    assert shown.code == 2
    assert "--lake" in shown.err


def test_every_line_is_accounted_for_and_strict_says_so(run, spark, lines):
    settings = ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2")
    shown = run("ingest", lines, "--lake", "lake", "--json", "--strict", *settings)
    assert shown.code == 2
    done = json.loads(shown.out)["ingest"]
    assert (done["files"], done["lines"], done["taken"]) == (1, 4, {"samples": 2})
    assert (done["quarantined"], done["duplicates"]) == (1, 1)
    assert done["reasons"] == {"not-json": 1}
    # The same file again changes nothing, and is not even read.
    again = run("ingest", lines, "--lake", "lake", *settings)
    assert again.code == 0
    assert "4 lines" in again.out
    assert "1 file skipped: already in the lake" in again.err
    assert Lake("lake").table("samples").snapshot().rows == 2


def test_a_period_is_for_metrics_stores_only(run, tmp_path):
    (tmp_path / "a.jsonl").write_text("{}\n")
    period = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z"]
    outcome = run("ingest", tmp_path, "--lake", tmp_path / "lake", *period)
    assert outcome.code == 2
    assert "files are taken whole" in outcome.err
