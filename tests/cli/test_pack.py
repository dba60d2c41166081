"""``streamgauge pack``: what it prints and writes, and how it ends."""

import json

from tests.planning.packing.test_choosing import JOB

CATALOGUE = """\
catalogue: 1
name: small
example: true
machines:
  - {name: g2, category: general, cores: 2, memory_gib: 8, price_per_hour: 0.1}
  - {name: g4, category: general, cores: 4, memory_gib: 16, price_per_hour: 0.19}
"""


def write(tmp_path):
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "machines.yaml").write_text(CATALOGUE)
    return str(tmp_path / "job.yaml"), "--catalogue", str(tmp_path / "machines.yaml")


def test_one_json_document_has_the_choice_the_options_and_the_baselines(run, tmp_path):
    result = run("pack", *write(tmp_path), "--options", "1", "--json")
    packing = json.loads(result.out)["packing"]
    assert result.code == 0
    assert packing["meets"]
    assert packing["chosen"]["machines"]
    assert set(packing["baselines"]) == {"meezan", "exact program", "round robin"}
    assert packing["lower_bound_per_hour"] <= packing["chosen"]["price_per_hour"]
    assert "is an example: its prices are invented" in result.err


def test_the_report_the_picture_the_page_and_the_placed_job_are_written(run, tmp_path):
    files = [tmp_path / name for name in ("pack.svg", "pack.html", "placed.yaml")]
    result = run(
        "pack",
        *write(tmp_path),
        *("--options", "2", "--svg", str(files[0]), "--html", str(files[1]), "-o", str(files[2])),
    )
    assert result.out.startswith("Buy ")
    assert all(path.stat().st_size > 500 for path in files)
    assert run("predict", str(files[2])).code == 0


def test_an_objective_that_is_missed_ends_with_3(run, tmp_path):
    result = run("pack", *write(tmp_path), "--options", "1", "--objective", "p99<1us")
    assert result.code == 3
    assert result.out.startswith("Not feasible: no plan meets")


def test_bad_input_ends_with_2(run, tmp_path):
    job, option, catalogue = write(tmp_path)
    (tmp_path / "empty.yaml").write_text("catalogue: 1\nmachines: []\n")
    assert run("pack", job, option, str(tmp_path / "empty.yaml")).code == 2
    assert run("pack", job, option, str(tmp_path / "missing.yaml")).code == 2
    assert run("pack", option, catalogue).code == 2
    assert run("pack", job, option, catalogue, "--objective", "fast").code == 2
    assert run("pack", job, option, catalogue, "--sources", "99").code == 2
