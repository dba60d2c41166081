"""The figures of a transport are the engine's defaults, changed by the engine's own settings."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.transport.engine import engine_names, load_engine
from streamgauge.transport.mechanics import NO_LIMIT, Mechanics


def figures(engine, **settings):
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return load_engine(engine).mechanics(named)


@pytest.mark.parametrize("engine", engine_names())
def test_every_transport_has_figures(engine):
    assert isinstance(figures(engine), Mechanics)


def test_storm_2_has_the_defaults_of_its_own_file():
    # From defaults.yaml of Storm 2.8; the transfer buffer of 1,000 becomes a power of two.
    found = figures("storm-2")
    assert (found.receive_limit, found.transfer_limit) == (32768, 1024)
    assert (found.batch, found.flush_seconds) == (1, 0.001)
    assert (found.widen_load, found.narrow_load) == (0.8, 0.2)
    assert found.max_pending == NO_LIMIT
    assert found.time_out_seconds == 30.0
    assert found.load_aware


def test_storm_1_gathers_batches_of_a_hundred():
    found = figures("storm-1")
    assert (found.send_threads, found.batch, found.receive_limit) == (True, 100, 1024)
    assert found.watermarks is None
    assert figures("storm-1", topology__backpressure__enable=True).watermarks == (0.9, 0.4)


@pytest.mark.parametrize(
    ("setting", "given", "figure", "value"),
    [
        ("topology.transfer.buffer.size", 1000, "transfer_limit", 1024),
        ("topology.executor.receive.buffer.size", 5, "receive_limit", 8),
        ("topology.executor.overflow.limit", 0, "overflow_limit", NO_LIMIT),
        ("topology.executor.overflow.limit", 7, "overflow_limit", 7),
        ("topology.bolt.wait.progressive.level2.count", 0, "bolt_spin", 0.0),
        ("topology.batch.flush.interval.millis", 5, "flush_seconds", 0.005),
        ("topology.disable.loadaware.messaging", True, "load_aware", False),
        ("topology.message.timeout.secs", 60, "time_out_seconds", 60.0),
        ("topology.max.spout.pending", 9, "max_pending", 9),
    ],
)
def test_settings_change_figures(setting, given, figure, value):
    assert getattr(load_engine("storm-2").mechanics({setting: given}), figure) == value


def test_with_batches_flush_tuples_keep_bolts_awake():
    assert figures("storm-2").bolt_sleep > 0.0
    assert figures("storm-2", topology__producer__batch__size=10).bolt_sleep == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {"topology.message.timeout.secs": 0},
        {"topology.message.timeout.secs": "soon"},
        {"topology.max.spout.pending": -1},
        {"topology.producer.batch.size": 0},
    ],
)
def test_settings_that_cannot_be_are_refused(settings):
    with pytest.raises(InvalidInput, match="settings"):
        load_engine("storm-2").mechanics(settings)


def test_a_full_batch_must_fit_into_the_ring():
    with pytest.raises(InvalidInput, match="a capacity of 8 with batches of 100"):
        figures("storm-1", topology__executor__receive__buffer__size=8)
