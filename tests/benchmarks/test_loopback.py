"""Packets of the loopback device, and what is fitted to them."""

import struct

import pytest

from benchmarks.loopback import read_segment
from benchmarks.management import PLANS, Seen, fit_terms, summarise


def frame(payload, *, flags=0x18, options=0, protocol=6, kind=0x0800):
    """An Ethernet frame from port 5000 to 2181, of which only the headers are there."""
    own = 20 + options
    ethernet = bytes(12) + struct.pack("!H", kind)
    ip = struct.pack("!BBHHHBBH8x", 0x45, 0, 20 + own + payload, 0, 0, 64, protocol, 0)
    tcp = struct.pack("!HHIIBB", 5000, 2181, 0, 0, (own // 4) << 4, flags)
    return ethernet + ip + tcp + bytes(6 + options)


@pytest.mark.parametrize("options", [0, 12])
def test_payload_is_what_is_left_of_a_packet_without_headers(options):
    assert read_segment(frame(1234, options=options)) == (5000, 2181, 1234, False)


@pytest.mark.parametrize(("flags", "opens"), [(0x02, True), (0x12, False), (0x10, False)])
def test_only_the_first_packet_opens_a_connection(flags, opens):
    assert read_segment(frame(0, flags=flags)).opens is opens


@pytest.mark.parametrize("other", [{"protocol": 17}, {"kind": 0x86DD}])
def test_what_is_no_tcp_counts_for_nothing(other):
    assert read_segment(frame(10, **other)) is None


def seen(nodes, workers, tasks):
    """ZooKeeper has 100 bytes a node; a worker's messages have 30 and 2 for each task of all."""
    sizes = {
        "supervisor → ZooKeeper": 100.0 * nodes,
        "worker → ZooKeeper": 30.0 * workers + 2.0 * tasks,
        "worker → worker": 1e6,
    }
    return Seen(nodes, workers, tasks, sizes, {}, 0.5 * nodes)


PLANNED = [(nodes, workers, tasks) for nodes, some in PLANS.items() for workers, tasks in some]


def test_terms_that_were_planted_are_found():
    plans = [seen(*plan) for plan in PLANNED]
    found = fit_terms(plans, [one.management for one in plans])
    assert {name: n for name, n in found.items() if n > 1e-6} == pytest.approx(
        {"N": 100, "T": 2, "W": 30}
    )


def test_the_report_has_terms_of_each_kind_and_what_predicts_a_plan_that_is_left_out():
    ratios = summarise([seen(*plan) for plan in PLANNED]).ratios
    assert ratios["supervisor → ZooKeeper: N"] == pytest.approx(100)
    assert ratios["requests to ZooKeeper: N"] == pytest.approx(0.5)
    assert ratios["left out: worst"] == pytest.approx(0.0, abs=1e-9)
