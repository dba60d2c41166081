import hashlib
from dataclasses import replace

import pytest

from streamgauge.lake.plans import plan_id_of
from streamgauge.lake.records import PlacedExecutor

ACKER = PlacedExecutor(
    component="__acker", first_task=1, last_task=1, worker="n1:6700", node="n1", machine="m"
)
SPLIT = PlacedExecutor(component="split", first_task=2, last_task=3, worker="n2:6701", node="n2")
LINES = b"__acker[1] n1:6700\nsplit[2-3] n2:6701\n"


def test_an_id_is_the_first_twelve_digits_of_a_hash_over_executors_and_workers():
    assert plan_id_of([ACKER, SPLIT]) == hashlib.sha256(LINES).hexdigest()[:12] == "c2bafd686d64"


def test_neither_order_nor_machines_change_it():
    assert plan_id_of([replace(SPLIT, machine="m"), ACKER]) == plan_id_of([ACKER, SPLIT])


@pytest.mark.parametrize(
    "other", [{"worker": "n2:6702"}, {"last_task": 2}, {"component": "splitter"}]
)
def test_another_placement_has_another_id(other):
    assert plan_id_of([ACKER, replace(SPLIT, **other)]) != plan_id_of([ACKER, SPLIT])
