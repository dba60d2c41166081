"""A section may stand in another file, named relative to the one that refers to it."""

from pathlib import Path

import pytest

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.profile.files.jobs import load_job, parse_job

TOPOLOGY = "streamgauge: 1\ntopology: {name: far, operators: {s: {kind: source}}}\n"
REFERENCE = "streamgauge: 1\nabout: near\ntopology: {file: %s}\n"


def write(folder: Path, **files: str) -> Path:
    """Writes `name=text` as name.yaml; gives the path of the first."""
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder / f"{next(iter(files))}.yaml"


def test_a_section_is_taken_from_the_file_it_refers_to(tmp_path: Path):
    job = load_job(write(tmp_path, job=REFERENCE % "far.yaml", far=TOPOLOGY))
    assert (job.topology.name, job.about) == ("far", "near")


def test_a_reference_is_relative_to_the_file_not_to_the_caller(tmp_path: Path, monkeypatch):
    inner = tmp_path / "inner"
    inner.mkdir()
    write(tmp_path, far=TOPOLOGY)
    path = write(inner, job=REFERENCE % "../far.yaml")
    monkeypatch.chdir("/")
    assert load_job(path).topology.name == "far"


def test_a_reference_may_lead_to_another(tmp_path: Path):
    path = write(
        tmp_path, job=REFERENCE % "middle.yaml", middle=REFERENCE % "far.yaml", far=TOPOLOGY
    )
    assert load_job(path).topology.name == "far"


def test_a_json_file_may_refer_to_a_yaml_file(tmp_path: Path):
    write(tmp_path, far=TOPOLOGY)
    job = tmp_path / "job.json"
    job.write_text('{"streamgauge": 1, "topology": {"file": "far.yaml"}}')
    assert load_job(job).topology.name == "far"


def test_a_missing_file_is_named_with_who_referred_to_it(tmp_path: Path):
    with pytest.raises(UnreadableFile, match=r"far\.yaml: no such file") as caught:
        load_job(write(tmp_path, job=REFERENCE % "far.yaml"))
    assert any("job.yaml:3" in note for note in caught.value.__notes__)


def test_a_file_without_the_section_is_refused(tmp_path: Path):
    path = write(tmp_path, job=REFERENCE % "far.yaml", far="streamgauge: 1\nworkload: []\n")
    with pytest.raises(InvalidInput, match=r"job\.yaml:3: topology\.file: no section 'topology'"):
        load_job(path)


def test_a_reference_to_oneself_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match=r"job\.yaml:3: topology\.file: references in a cycle"):
        load_job(write(tmp_path, job=REFERENCE % "job.yaml"))


@pytest.mark.parametrize("way", ["job.yaml", "../{folder}/job.yaml"])
def test_references_in_a_circle_are_refused(tmp_path: Path, way):
    back = REFERENCE % way.format(folder=tmp_path.name)
    with pytest.raises(InvalidInput, match="references in a cycle"):
        load_job(write(tmp_path, job=REFERENCE % "middle.yaml", middle=back))


def test_a_text_without_a_folder_may_not_refer_to_files():
    with pytest.raises(InvalidInput, match=r"job:3: topology\.file: a reference to the file"):
        parse_job(REFERENCE % "/etc/passwd", "job")


def test_a_problem_has_the_file_and_line_it_stands_in(tmp_path: Path):
    far = TOPOLOGY.replace("kind: source", "kind: source, tasks: 0")
    with pytest.raises(InvalidInput, match=r"far\.yaml:2: topology\.operators\.s\.tasks: 0"):
        load_job(write(tmp_path, job=REFERENCE % "far.yaml", far=far))


def test_a_problem_between_files_has_the_line_of_what_names_it(tmp_path: Path):
    job = REFERENCE % "far.yaml" + "configuration:\n  executors: {t: 1}\n"
    with pytest.raises(InvalidInput, match=r"job\.yaml:5: configuration\.executors\.t"):
        load_job(write(tmp_path, job=job, far=TOPOLOGY))


def test_the_other_file_has_a_version_too(tmp_path: Path):
    far = TOPOLOGY.replace("streamgauge: 1", "streamgauge: 9")
    with pytest.raises(InvalidInput, match=r"far\.yaml:1: streamgauge: format version 9"):
        load_job(write(tmp_path, job=REFERENCE % "far.yaml", far=far))


def test_an_operator_may_be_called_file():
    job = parse_job(
        "streamgauge: 1\ntopology: {name: t, operators: {file: {kind: source}}}\n"
        "behaviours: {file: {}}\nsteps: {file: {workers: 2}}\n"
    )
    assert (list(job.behaviours), list(job.steps)) == (["file"], ["file"])


def test_a_reference_to_a_dash_is_a_file_of_that_name(tmp_path: Path, monkeypatch):
    write(tmp_path, job=REFERENCE % '"-"')
    (tmp_path / "-").write_text(TOPOLOGY)
    monkeypatch.chdir(tmp_path)
    assert load_job("job.yaml").topology.name == "far"
