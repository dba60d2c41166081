import pytest
import yaml

from streamgauge.engines.storm.cluster import StormCluster, cluster_id, take_down
from streamgauge.engines.storm.daemons import (
    ClusterState,
    RunningDaemon,
    could_not_listen,
    trouble_in,
)
from streamgauge.engines.storm.layout import Layout
from streamgauge.engines.storm.ports import NodePorts, Ports
from streamgauge.engines.storm.processes import ProcessKey
from streamgauge.errors import InvalidInput, SourceUnreachable, UnreadableFile


@pytest.fixture
def layout(tmp_path):
    made = Layout(tmp_path)
    made.logs.mkdir()
    return made


def test_trouble_shows_the_lines_that_tell_and_where_the_log_is(layout):
    noise = "2026 Nimbus main [INFO] all is well\n" * 50
    layout.log_of("nimbus").write_text(f"2026 Nimbus main [ERROR] no room\n{noise}")
    assert trouble_in(layout, "nimbus") == (
        f"see {layout.log_of('nimbus')}\n  2026 Nimbus main [ERROR] no room"
    )


def test_without_a_log_what_was_printed_is_shown(layout):
    layout.printed_by("nimbus").write_text("Error: Could not find or load main class\n")
    assert "Could not find" in trouble_in(layout, "nimbus")
    assert str(layout.printed_by("nimbus")) in trouble_in(layout, "nimbus")


def test_a_port_in_use_is_told_from_other_trouble(layout):
    layout.log_of("zookeeper").write_text("java.net.BindException: Address already in use\n")
    layout.log_of("nimbus").write_text("java.lang.OutOfMemoryError\n")
    assert could_not_listen(layout, "zookeeper")
    assert not could_not_listen(layout, "nimbus")


def test_every_daemon_has_its_own_settings(layout):
    nodes = tuple(NodePorts(name=f"127.0.0.{n}", thrift=100 + n, slots=(6700 + n,)) for n in (2, 3))
    layout.write_settings(Ports(zookeeper=1, nimbus=2, nodes=nodes), {"topology.debug": True})
    read = {
        path.parent.name: yaml.safe_load(path.read_text())
        for path in layout.data.glob("conf/*/storm.yaml")
    }
    assert set(read) == {
        "zookeeper",
        "nimbus",
        "supervisor-127.0.0.2",
        "supervisor-127.0.0.3",
    }
    assert len({settings["storm.local.dir"] for settings in read.values()}) == 4
    assert read["supervisor-127.0.0.3"]["supervisor.slots.ports"] == [6703]
    assert read["nimbus"]["topology.debug"] is True


def test_where_no_cluster_is_none_is_reached(tmp_path):
    with pytest.raises(SourceUnreachable, match="storm up"):
        StormCluster.attach(tmp_path)
    assert take_down(tmp_path) == 0


def test_a_folder_names_its_cluster_however_it_is_written(tmp_path):
    assert cluster_id(tmp_path / "a" / ".." / "b") == cluster_id(tmp_path / "b")
    assert cluster_id(tmp_path / "a") != cluster_id(tmp_path / "b")


@pytest.mark.parametrize(("nodes", "slots"), [(0, 1), (1, 0), (1000, 1)])
def test_a_shape_that_no_machine_has_is_refused(tmp_path, nodes, slots):
    with pytest.raises(InvalidInput, match=r"nodes|slots"):
        StormCluster.up(tmp_path, nodes=nodes, slots=slots)


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
