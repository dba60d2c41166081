import pytest

from streamgauge.engines.storm.daemons import ClusterState, RunningDaemon
from streamgauge.engines.storm.ports import NodePorts, Ports
from streamgauge.engines.storm.processes import ProcessKey
from streamgauge.errors import UnreadableFile


@pytest.fixture
def state(tmp_path):
    nodes = (NodePorts(name="127.0.0.2", thrift=3, slots=(6700, 6701)),)
    daemon = RunningDaemon(name="nimbus", process=ProcessKey(7, 99), log=tmp_path / "nimbus.log")
    ports = Ports(zookeeper=1, nimbus=2, nodes=nodes)
    return ClusterState(cluster="abc", ports=ports, daemons=(daemon,))


def test_a_state_is_read_as_it_was_written(state, tmp_path):
    state.save(tmp_path / "state.json")
    assert ClusterState.load(tmp_path / "state.json") == state


def test_where_nothing_was_written_there_is_no_state(tmp_path):
    assert ClusterState.load(tmp_path / "state.json") is None


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}', '{"version": 1}'])
def test_a_broken_state_says_what_to_do(text, tmp_path):
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(UnreadableFile, match="storm down"):
        ClusterState.load(tmp_path / "state.json")


def test_all_ports_of_a_cluster_are_claimed(state):
    assert state.ports.all == {1, 2, 3, 6700, 6701}
