"""Where Spark runs decides what it is told."""

import os
import sys

import pytest

from streamgauge.pipeline import session


class Builder:
    """Takes settings as Spark's builder does, and starts nothing."""

    def __init__(self):
        self.settings = {}

    def appName(self, name):  # noqa: N802 (Spark names it so)
        return self

    def config(self, key, value):
        self.settings[key] = value
        return self


@pytest.fixture
def settings(monkeypatch):
    """The settings that a session would be made with."""
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setattr(session, "running_session", lambda: None)
    monkeypatch.setattr(session, "_find_java", lambda: None)
    monkeypatch.setattr(session, "_started", lambda builder: builder)
    monkeypatch.setattr(session.SparkSession, "builder", Builder())

    def made(**options):
        session.SparkSession.builder.settings = {}
        return session.make_session("tests", **options).settings

    return made


@pytest.mark.parametrize("master", ["local[2]", "spark://127.0.0.1:7077", "spark://localhost:7077"])
def test_on_this_machine_nothing_listens_beyond_it(settings, master):
    found = settings(master=master)
    assert found["spark.master"] == master
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.ui.enabled"] == "false"


@pytest.mark.parametrize("master", ["spark://node-1:7077", "yarn", "k8s://https://127.0.0.1:6443"])
def test_executors_elsewhere_must_reach_the_driver(settings, master):
    found = settings(master=master, brief=True)
    assert not {"spark.driver.host", "spark.driver.bindAddress"} & set(found)
    # How many partitions is for adaptive execution to find.
    assert not {"spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled"} & set(found)
    assert found["spark.sql.session.timeZone"] == "UTC"


def test_small_work_starts_quickly_on_local_threads_only(settings):
    assert settings(brief=True)["spark.sql.adaptive.enabled"] == "false"
    assert "spark.sql.adaptive.enabled" not in settings(master="spark://[::1]:7077", brief=True)


def test_a_file_of_settings_may_name_the_master_and_the_option_wins(settings):
    conf = {"spark.master": "yarn", "spark.driver.memory": "9g"}
    assert settings(conf=conf)["spark.master"] == "yarn"
    assert "spark.driver.host" not in settings(conf=conf)
    found = settings(master="local[1]", conf=conf)
    assert (found["spark.master"], found["spark.driver.memory"]) == ("local[1]", "9g")


def test_executors_have_this_interpreter_or_the_one_that_was_named(settings):
    settings()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    settings(conf={"spark.pyspark.python": "./environment/bin/python"})
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable


def test_what_spark_submit_said_holds(settings, monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setattr(Builder, "getOrCreate", lambda self: self, raising=False)
    found = settings()
    assert not {"spark.master", "spark.driver.memory", "spark.driver.host"} & set(found)
