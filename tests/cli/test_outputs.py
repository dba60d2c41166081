"""What commands write: never over what they read; and the examples that they can be tried on."""

import json

import pytest

OUTPUTS = [
    ("topology", "show", "{job}", "--svg", "{job}"),
    ("topology", "show", "{job}", "--svg={job}"),
    ("plan", "place", "{job}", "--svg", "{job}"),
    ("simulate", "{job}", "--seconds", "1", "--html", "{link}"),
    ("predict", "--profile", "{profile}", "--html", "{profile}"),
    ("predict", "--profile", "{profile}", "--plan", "{job}", "--svg", "{job}"),
]


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_an_output_that_is_also_an_input_is_refused_and_left_as_it_is(
    run, project, tmp_path, words
):
    job, profile = tmp_path / "job.yaml", tmp_path / "p.json"
    link = tmp_path / "link.html"
    link.symlink_to(job)
    job.write_bytes((project / "examples/word-count.yaml").read_bytes())
    profile.write_bytes((project / "examples/word-count.profile.json").read_bytes())
    before = job.read_bytes(), profile.read_bytes()
    shown = run(*(word.format(job=job, profile=profile, link=link) for word in words))
    assert shown.code == 2
    assert "a file that this command also reads or writes" in shown.err
    assert (job.read_bytes(), profile.read_bytes()) == before


@pytest.mark.parametrize("option", ["--svg", "--html", "-o"])
def test_a_file_that_the_job_refers_to_is_not_written_over(run, job, tmp_path, option):
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("streamgauge: 1\ncluster: {uniform: {nodes: 2, slots: 2, cores: 2}}\n")
    before = cluster.read_bytes()
    whole = "cluster: {uniform: {nodes: 2, slots: 2, cores: 2}}"
    job.write_text(job.read_text().replace(whole, "cluster: {file: cluster.yaml}"))
    shown = run("plan", "place", job, option, cluster)
    assert shown.code == 2
    assert "a file that this command also reads or writes" in shown.err
    assert cluster.read_bytes() == before


def test_an_output_may_be_written_again(run, job, tmp_path):
    for _ in range(2):
        shown = run("topology", "show", job, "--svg", tmp_path / "job.svg")
        assert shown.code == 0
        assert f"wrote {tmp_path}/job.svg" in shown.err


def test_examples_are_listed_and_copied(run, project, tmp_path):
    names = json.loads(run("examples", "--json").out)["examples"]
    assert {"word-count.yaml", "mappings/prometheus.yaml"} <= set(names)
    assert run("examples").out.splitlines() == names
    target = tmp_path / "mine"
    assert run("examples", "-o", target).code == 0
    for name in names:
        assert (target / name).read_bytes() == (project / "examples" / name).read_bytes()


def test_examples_that_somebody_changed_are_left_alone(run, tmp_path):
    (tmp_path / "word-count.yaml").write_text("mine")
    shown = run("examples", "-o", tmp_path)
    assert "word-count.yaml already exists; left unchanged" in shown.err
    assert (tmp_path / "word-count.yaml").read_text() == "mine"
    assert (tmp_path / "multiplier.yaml").is_file()
