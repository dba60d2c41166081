package io.streamgauge.storm.agent;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.Config;
import org.apache.storm.generated.ExecutorSummary;
import org.apache.storm.generated.GetInfoOptions;
import org.apache.storm.generated.NumErrorsChoice;
import org.apache.storm.generated.TopologyInfo;
import org.apache.storm.utils.NimbusClient;

/**
 * The plan that the topology runs on, by asking nimbus when the worker starts and whenever its own
 * connections show that tasks have moved.
 *
 * <p>No worker knows the executors of the others. All workers find the same id; the one that has
 * the first task writes the plan.
 */
final class Plans {
    private static final int TIMEOUT_MILLIS = 5_000;
    private static final int ID_LENGTH = 12;
    private static final long LEAST_WAIT_MILLIS = 10_000;
    private static final long MOST_WAIT_MILLIS = 600_000;

    private final Agent agent;
    private final Seat seat;
    private final List<String> lines = new ArrayList<>();
    private String id;
    private Map<Integer, String> askedAbout = Map.of();
    private long waitMillis = LEAST_WAIT_MILLIS;
    private long notBefore;

    Plans(Agent agent, Seat seat) {
        this.agent = agent;
        this.seat = seat;
    }

    /** The id of the plan that holds now, or null where nobody knows. */
    String id() {
        return id;
    }

    /** Plan lines that are to be written. */
    List<String> takeLines() {
        List<String> taken = List.copyOf(lines);
        lines.clear();
        return taken;
    }

    /** Asks nimbus where there is reason to. */
    void look() {
        if (!agent.settings().plans()) {
            return;
        }
        Map<Integer, String> seen = agent.assignment().now();
        boolean moved = !seen.isEmpty() && !seen.equals(askedAbout);
        long now = System.currentTimeMillis();
        if ((id == null || moved) && now >= notBefore) {
            ask(seen, now);
        }
    }

    private void ask(Map<Integer, String> seen, long now) {
        try {
            List<Placed> found = placed(agent.conf(), seat.topologyId());
            if (!holdsThisWorker(found)) {
                // Nimbus has not settled yet, or this worker is about to end.
                notBefore = now + LEAST_WAIT_MILLIS;
                return;
            }
            boolean first = id == null;
            askedAbout = seen;
            waitMillis = LEAST_WAIT_MILLIS;
            String foundId = idOf(found);
            if (!foundId.equals(id) && found.get(0).worker().equals(seat.worker())) {
                lines.add(line(foundId, found, first ? seat.startMillis() : now));
            }
            id = foundId;
        } catch (Exception unknown) {
            if (waitMillis == LEAST_WAIT_MILLIS) {
                Agent.tell("The plan is not known yet; samples go without it", unknown);
            }
            notBefore = now + waitMillis;
            waitMillis = Math.min(2 * waitMillis, MOST_WAIT_MILLIS);
        }
    }

    private static List<Placed> placed(Map<String, Object> conf, String topologyId)
        throws Exception {
        GetInfoOptions options = new GetInfoOptions();
        options.set_num_err_choice(NumErrorsChoice.NONE);
        // Storm's own patience with a dead nimbus is minutes; the next bucket cannot wait for that.
        Map<String, Object> impatient = new HashMap<>(conf);
        impatient.put(Config.STORM_NIMBUS_RETRY_TIMES, 1);
        impatient.put(Config.STORM_NIMBUS_RETRY_INTERVAL, 200);
        TopologyInfo info;
        try (NimbusClient nimbus =
            NimbusClient.Builder.withConf(impatient).withTimeout(TIMEOUT_MILLIS).build()) {
            info = nimbus.getClient().getTopologyInfoWithOpts(topologyId, options);
        }
        List<Placed> found = new ArrayList<>();
        for (ExecutorSummary one : info.get_executors()) {
            int first = one.get_executor_info().get_task_start();
            if (first >= 0 && !Names.isForeign(one.get_component_id())) {
                found.add(new Placed(
                    one.get_component_id(), first, one.get_executor_info().get_task_end(),
                    one.get_host(), one.get_port()));
            }
        }
        found.sort(Comparator.comparingInt(Placed::first));
        return found;
    }

    private boolean holdsThisWorker(List<Placed> found) {
        Set<String> mine = new LinkedHashSet<>();
        agent.worker().executors().forEach(one -> mine.add(one.label()));
        Set<String> here = new LinkedHashSet<>();
        for (Placed one : found) {
            if (one.worker().equals(seat.worker())) {
                here.add(one.label());
            }
        }
        return !mine.isEmpty() && here.equals(mine);
    }

    /** The first digits of a hash over `EXECUTOR NODE:PORT` lines, by first task. */
    static String idOf(List<Placed> plan) {
        StringBuilder text = new StringBuilder();
        for (Placed one : plan) {
            text.append(one.label()).append(' ').append(one.worker()).append('\n');
        }
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256")
                .digest(text.toString().getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash).substring(0, ID_LENGTH);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private String line(String planId, List<Placed> plan, long fromMillis) {
        return new JsonLine().begin("plan")
            .put("cluster", agent.settings().cluster())
            .put("topology", seat.topology())
            .put("plan_id", planId)
            .put("engine", JobDocument.ENGINE)
            .put("valid_from_us", fromMillis * 1000)
            .put("document", JobDocument.of(agent.worker().context(), agent.conf(), plan))
            .putObjects("executors", plan, (one, line) -> line
                .put("component", one.component())
                .put("first_task", (long) one.first())
                .put("last_task", (long) one.last())
                .put("worker", one.worker())
                .put("node", one.node())
                .put("machine", machineOf(one.node())))
            .end();
    }

    /** Nodes on loopback addresses are all on this machine; of others only this one is known. */
    private String machineOf(String node) {
        return node.equals(seat.node()) || Names.isLoopback(node) ? seat.machine() : null;
    }

    /** An executor and where it runs. */
    record Placed(String component, int first, int last, String node, int port) {
        String label() {
            return Names.executor(component, first, last);
        }

        String worker() {
            return node + ":" + port;
        }
    }
}
