"""Plug-ins: found by group and name; what is missing is named with what to do about it."""

import sys

import pytest

from streamgauge.errors import InvalidInput, MissingExtra
from streamgauge.extras import extra_with
from streamgauge.plugins import (
    ENGINES,
    FORECASTERS,
    MODELS,
    SCALERS,
    SCHEDULERS,
    check_plugin,
    load_plugin,
    plugin_names,
    resolve,
)

GROUPS = (ENGINES, MODELS, SCHEDULERS, SCALERS, FORECASTERS)


def registered(tmp_path, monkeypatch, line):
    """Puts a package with one entry point on the path, as an installer would."""
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{MODELS.entry_points}]\n{line}\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.kind)
def test_every_plugin_can_be_loaded(group):
    names = plugin_names(group)
    assert names == tuple(sorted(names)) and names
    assert all(load_plugin(group, name) is not None for name in names)


@pytest.mark.parametrize("find", [check_plugin, load_plugin])
def test_an_unknown_name_is_refused_with_those_that_are_known_and_a_guess(find):
    with pytest.raises(InvalidInput) as refused:
        find(SCHEDULERS, "evne", ("--scheduler",))
    (problem,) = refused.value.problems
    assert problem.path == "--scheduler"
    assert problem.seen == "scheduler 'evne'"
    assert problem.expected == f"one of {', '.join(plugin_names(SCHEDULERS))}"
    assert problem.remedy == "did you mean 'even'?"


def test_a_plugin_of_another_package_is_found_once_it_is_on_the_path(tmp_path, monkeypatch):
    assert "mine" not in plugin_names(MODELS)
    registered(tmp_path, monkeypatch, "mine = my_model:MODEL")
    (tmp_path / "my_model.py").write_text("MODEL = 'a model'\n")
    assert "mine" in plugin_names(MODELS)
    assert load_plugin(MODELS, "mine") == "a model"


def test_a_package_of_an_extra_that_is_missing_is_named_with_the_extra(tmp_path, monkeypatch):
    registered(tmp_path, monkeypatch, "needy = my_needy_model:MODEL")
    (tmp_path / "my_needy_model.py").write_text("import ortools\n")
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(MissingExtra, match=r"pip install 'streamgauge\[planning\]'"):
        load_plugin(MODELS, "needy")


def test_a_package_of_nobody_that_is_missing_is_named(tmp_path, monkeypatch):
    registered(tmp_path, monkeypatch, "broken = not_there_at_all.models:MODEL")
    with pytest.raises(InvalidInput, match="model 'broken' without the module 'not_there_at_all'"):
        load_plugin(MODELS, "broken")


@pytest.mark.parametrize(
    ("package", "extra"),
    [
        ("numba", "simulation"),
        ("ortools", "planning"),
        ("pyarrow", "lake"),
        ("pyspark", "pipeline"),
        ("numpy", ""),
        ("no_such_package", ""),
    ],
)
def test_the_smallest_extra_with_a_package_is_found(package, extra):
    assert extra_with(package) == extra


def test_a_reference_names_a_module_and_what_is_in_it():
    assert resolve("streamgauge.plugins:MODELS") is MODELS
