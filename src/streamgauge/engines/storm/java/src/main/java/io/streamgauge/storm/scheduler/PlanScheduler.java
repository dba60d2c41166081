package io.streamgauge.storm.scheduler;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.DefaultScheduler;
import org.apache.storm.scheduler.IScheduler;
import org.apache.storm.scheduler.Topologies;
import org.apache.storm.scheduler.TopologyDetails;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Puts the executors of a topology where its plan file wants them.
 *
 * <p>Topologies without a plan, or with one that does not fit, are left to Storm's own scheduler.
 * New ones wait while the {@link Gate} is closed.
 * Nothing may be thrown here: an exception in a scheduler halts nimbus.
 */
public final class PlanScheduler implements IScheduler {
    /** Nimbus's setting for the folder of plan files. */
    public static final String PLANS = "streamgauge.scheduler.plans";

    private static final Logger LOG = LoggerFactory.getLogger(PlanScheduler.class);

    private PlanFolder plans;
    private Gate gate;

    @Override
    public void prepare(Map<String, Object> conf, StormMetricsRegistry metrics) {
        Object folder = conf.get(PLANS);
        if (folder instanceof String text && !text.isEmpty()) {
            plans = new PlanFolder(Path.of(text));
            gate = new Gate(Path.of(text));
        } else {
            LOG.warn("{} is not set: Storm's own scheduler places everything", PLANS);
        }
    }

    @Override
    public void schedule(Topologies topologies, Cluster cluster) {
        Map<String, TopologyDetails> admitted = new HashMap<>();
        Map<String, TopologyDetails> others = new HashMap<>();
        for (TopologyDetails topology : topologies.getTopologies()) {
            if (waits(topology, cluster)) {
                continue;
            }
            admitted.put(topology.getId(), topology);
            if (!placed(topology, cluster)) {
                others.put(topology.getId(), topology);
            }
        }
        try {
            if (admitted.size() == topologies.getTopologies().size()) {
                DefaultScheduler.defaultSchedule(new Topologies(others), cluster);
            } else {
                scheduleWithoutWaiting(new Topologies(admitted), cluster);
            }
        } catch (RuntimeException | LinkageError error) {
            LOG.error("topologies without a plan were not scheduled", error);
        }
    }

    /** Storm's scheduler looks at all topologies of a cluster: it gets one of those admitted. */
    private static void scheduleWithoutWaiting(Topologies admitted, Cluster cluster) {
        Cluster without = new Cluster(cluster, admitted);
        DefaultScheduler.defaultSchedule(admitted, without);
        cluster.setAssignments(without.getAssignments(), false);
    }

    @Override
    public Map<String, Map<String, Double>> config() {
        return Map.of();
    }

    private boolean waits(TopologyDetails topology, Cluster cluster) {
        try {
            return gate != null && gate.holds(topology, cluster);
        } catch (RuntimeException | LinkageError error) {
            LOG.error("whether {} may join was not looked at", topology.getName(), error);
            return false;
        }
    }

    private boolean placed(TopologyDetails topology, Cluster cluster) {
        if (plans == null) {
            return false;
        }
        try {
            return plans.apply(topology, cluster);
        } catch (RuntimeException | LinkageError error) {
            LOG.error("the plan of {} was not looked at", topology.getName(), error);
            return false;
        }
    }
}
