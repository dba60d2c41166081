package io.streamgauge.storm.scheduler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.INimbus;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.apache.storm.scheduler.resource.normalization.ResourceMetrics;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlanSchedulerTest {
    private static final String ID = "tiny-1";
    private static final String PLAN = "{\"topology\": \"tiny\", \"workers\": ["
            + "{\"node\": \"127.0.0.3\", \"port\": 6701, \"executors\": [[1, 1], [3, 4]]},"
            + "{\"node\": \"127.0.0.2\", \"port\": 6700, \"executors\": [[2, 2]]}]}";

    @TempDir
    private Path plans;

    private final PlanScheduler scheduler = new PlanScheduler();

    @BeforeEach
    void prepare() {
        scheduler.prepare(
                Map.of(PlanScheduler.PLANS, plans.toString()), new StormMetricsRegistry());
    }

    @Test
    void executorsRunWhereThePlanWantsThem() throws IOException {
        write(PLAN);
        assertEquals(
                Map.of("[1, 1]", "three:6701", "[2, 2]", "two:6700", "[3, 4]", "three:6701"),
                scheduled(cluster(Map.of())));
        assertTrue(status().contains("\"fits\":true"));
    }

    @Test
    void aTopologyWithoutPlanIsPlacedByStorm() {
        assertEquals(3, scheduled(cluster(Map.of())).size());
        assertFalse(Files.exists(plans.resolve("tiny.status")));
    }

    @Test
    void aPlanThatChangedMovesARunningTopology() throws IOException {
        Cluster cluster = cluster(Map.of());
        scheduled(cluster);
        write(PLAN);
        assertEquals("two:6700", scheduled(cluster).get("[2, 2]"));
    }

    @Test
    void aPlanInPlaceIsLeftAlone() throws IOException {
        write(PLAN);
        Cluster cluster = cluster(Map.of());
        scheduled(cluster);
        SchedulerAssignment before = cluster.getAssignmentById(ID);
        assertEquals(scheduled(cluster), places(before));
    }

    @Test
    void aPlanThatDoesNotFitFallsBackAndSaysWhy() throws IOException {
        for (String plan : new String[] {
            PLAN.replace("[3, 4]", "[3, 3]"),
            PLAN.replace("[2, 2]", "[1, 1]"),
            PLAN.replace("127.0.0.3", "127.0.0.9"),
            PLAN.replace("[[2, 2]]", "[[2]]"),
            PLAN.replace("[[2, 2]]", "null"),
            "{}",
            "null",
            "[1]",
            "{\"workers\": [null]}",
            "no JSON",
        }) {
            write(plan);
            assertEquals(3, scheduled(cluster(Map.of())).size(), plan);
            assertTrue(status().contains("\"fits\":false"), plan);
        }
    }

    @Test
    void aSlotOfAnotherTopologyIsNotTaken() throws IOException {
        Cluster cluster = cluster(Map.of());
        cluster.assign(new WorkerSlot("two", 6700), "other-1", Set.of(new ExecutorDetails(1, 1)));
        write(PLAN);
        Map<String, String> places = scheduled(cluster);
        assertEquals(3, places.size());
        assertFalse(places.containsValue("two:6700"));
        assertTrue(status().contains("127.0.0.2:6700 is not free"));
    }

    @Test
    void aNewTopologyWaitsWhileTheGateIsClosedAndItsStatusSaysWhy() throws IOException {
        write(PLAN);
        Files.writeString(plans.resolve(Gate.CLOSED), "orders misses the objective\n");
        Cluster cluster = cluster(Map.of());
        scheduler.schedule(cluster.getTopologies(), cluster);
        assertNull(cluster.getAssignmentById(ID));
        assertEquals("waits: orders misses the objective; streamgauge storm release tiny lets it in",
                cluster.getStatusMap().get(ID));
        Files.delete(plans.resolve(Gate.CLOSED));
        assertEquals(3, scheduled(cluster).size());
    }

    @Test
    void whatIsReleasedDoesNotWait() throws IOException {
        Files.writeString(plans.resolve(Gate.CLOSED), "full");
        Path released = plans.resolve("tiny" + Gate.RELEASED);
        Files.writeString(released, "");
        Cluster cluster = cluster(Map.of());
        assertEquals(3, scheduled(cluster).size());
        scheduled(cluster);
        assertFalse(Files.exists(released));
    }

    @Test
    void whatRunsGoesOnThoughItsSlotsAreLost() throws IOException {
        Cluster cluster = cluster(Map.of());
        scheduled(cluster);
        Files.writeString(plans.resolve(Gate.CLOSED), "full");
        scheduled(cluster);
        assertEquals(3, scheduled(cluster(Map.of())).size());
    }

    @Test
    void aGateThatNobodyKeepsIsOpen() throws IOException {
        Path gate = plans.resolve(Gate.CLOSED);
        Files.writeString(gate, "full");
        Files.setLastModifiedTime(gate,
                FileTime.fromMillis(System.currentTimeMillis() - 2 * Gate.PATIENCE_MILLIS));
        assertEquals(3, scheduled(cluster(Map.of())).size());
    }

    @Test
    void withoutAFolderStormPlacesEverything() {
        PlanScheduler bare = new PlanScheduler();
        bare.prepare(Map.of(), new StormMetricsRegistry());
        Cluster cluster = cluster(Map.of());
        bare.schedule(cluster.getTopologies(), cluster);
        assertEquals(3, places(cluster.getAssignmentById(ID)).size());
    }

    private void write(String plan) throws IOException {
        Files.writeString(plans.resolve("tiny.json"), plan);
    }

    private String status() throws IOException {
        return Files.readString(plans.resolve("tiny.status"));
    }

    private Map<String, String> scheduled(Cluster cluster) {
        scheduler.schedule(cluster.getTopologies(), cluster);
        return places(cluster.getAssignmentById(ID));
    }

    private static Map<String, String> places(SchedulerAssignment assignment) {
        Map<String, String> places = new TreeMap<>();
        assignment.getExecutorToSlot().forEach((executor, slot) -> places.put(
                executor.toString(), slot.getNodeId() + ":" + slot.getPort()));
        return places;
    }

    /** Two nodes with two slots each, and a topology of three executors on two workers. */
    private static Cluster cluster(Map<String, SchedulerAssignment> assignments) {
        Map<String, Object> conf = new HashMap<>(Utils.readDefaultConfig());
        conf.put(Config.TOPOLOGY_NAME, "tiny");
        Map<String, SupervisorDetails> supervisors = new HashMap<>();
        supervisors.put("two", supervisor("two", "127.0.0.2"));
        supervisors.put("three", supervisor("three", "127.0.0.3"));
        Map<ExecutorDetails, String> executors = Map.of(
                new ExecutorDetails(1, 1), "a",
                new ExecutorDetails(2, 2), "b",
                new ExecutorDetails(3, 4), "c");
        StormTopology empty = new StormTopology(new HashMap<>(), new HashMap<>(), new HashMap<>());
        Topologies topologies = new Topologies(
                new TopologyDetails(ID, conf, empty, 2, executors, "user"),
                new TopologyDetails("other-1", otherConf(conf), empty, 1,
                        Map.of(new ExecutorDetails(1, 1), "a"), "user"));
        return new Cluster(new Nimbus(), new ResourceMetrics(new StormMetricsRegistry()),
                supervisors, assignments, topologies, conf);
    }

    private static Map<String, Object> otherConf(Map<String, Object> conf) {
        Map<String, Object> other = new HashMap<>(conf);
        other.put(Config.TOPOLOGY_NAME, "other");
        return other;
    }

    private static SupervisorDetails supervisor(String id, String host) {
        return new SupervisorDetails(id, host, null, Set.of(6700, 6701), Map.of());
    }

    /** A nimbus that asks nothing. */
    private static final class Nimbus implements INimbus {
        @Override
        public void prepare(Map<String, Object> conf, String schedulerLocalDir) {
        }

        @Override
        public Collection<WorkerSlot> allSlotsAvailableForScheduling(
                Collection<SupervisorDetails> supervisors, Topologies topologies,
                Set<String> topologiesMissingAssignments) {
            return Set.of();
        }

        @Override
        public void assignSlots(
                Topologies topologies, Map<String, Collection<WorkerSlot>> newSlots) {
        }

        @Override
        public String getHostName(Map<String, SupervisorDetails> supervisors, String nodeId) {
            return supervisors.get(nodeId).getHost();
        }

        @Override
        public IScheduler getForcedScheduler() {
            return null;
        }
    }
}
