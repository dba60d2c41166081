import random
import socket

import pytest

from streamgauge.engines.storm.ports import daemon_ports, is_free, slot_ports


@pytest.fixture
def listening():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_that_somebody_listens_on_is_not_free(listening):
    assert not is_free(listening)


def test_ports_of_daemons_are_free_and_different():
    ports = daemon_ports(5, taken=(), rng=random.Random(1))
    assert len(set(ports)) == 5
    assert all(is_free(port) for port in ports)


def test_ports_that_are_taken_are_passed_over():
    first = daemon_ports(3, taken=(), rng=random.Random(1))
    second = daemon_ports(3, taken=first, rng=random.Random(1))
    assert not set(first) & set(second)


def test_slots_go_on_after_those_of_another_cluster():
    first = slot_ports(2, taken=())
    assert min(slot_ports(2, taken=first)) > max(first)
