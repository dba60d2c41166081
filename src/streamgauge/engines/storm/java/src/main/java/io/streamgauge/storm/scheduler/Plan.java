package io.streamgauge.storm.scheduler;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SupervisorDetails;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;

/** A plan as its file has it: for each worker the first and last tasks of its executors. */
final class Plan {
    private List<Worker> workers;

    /** A worker by node and port. */
    private static final class Worker {
        private String node;
        private int port;
        private List<List<Integer>> executors;
    }

    static Plan read(Path file) throws UnfitPlan {
        try {
            Plan plan = new Gson().fromJson(Files.readString(file), Plan.class);
            if (plan == null || plan.workers == null) {
                throw new UnfitPlan("the file has no workers");
            }
            return plan;
        } catch (IOException | JsonParseException error) {
            throw new UnfitPlan("the file cannot be read: " + error.getMessage());
        }
    }

    /** The slot of every executor of the topology, each of which is free for it. */
    Map<ExecutorDetails, WorkerSlot> slots(TopologyDetails topology, Cluster cluster)
            throws UnfitPlan {
        Map<ExecutorDetails, WorkerSlot> slots = new HashMap<>();
        Set<WorkerSlot> free = new HashSet<>(cluster.getAvailableSlots());
        free.addAll(cluster.getUsedSlotsByTopologyId(topology.getId()));
        for (Worker worker : workers) {
            WorkerSlot slot = slot(worker, cluster);
            if (!free.contains(slot)) {
                throw new UnfitPlan("slot " + worker.node + ":" + worker.port + " is not free");
            }
            for (ExecutorDetails executor : executors(worker)) {
                if (slots.put(executor, slot) != null) {
                    throw new UnfitPlan("executor " + executor + " is in two workers");
                }
            }
        }
        if (!slots.keySet().equals(topology.getExecutors())) {
            throw new UnfitPlan("it has executors " + sorted(slots.keySet())
                    + ", the topology " + sorted(topology.getExecutors()));
        }
        return slots;
    }

    private static WorkerSlot slot(Worker worker, Cluster cluster) throws UnfitPlan {
        for (SupervisorDetails supervisor : cluster.getSupervisors().values()) {
            boolean isNode = supervisor.getHost().equals(worker.node);
            if (isNode && supervisor.getAllPorts().contains(worker.port)) {
                return new WorkerSlot(supervisor.getId(), worker.port);
            }
        }
        throw new UnfitPlan("no supervisor has slot " + worker.node + ":" + worker.port);
    }

    private static Set<ExecutorDetails> executors(Worker worker) throws UnfitPlan {
        Set<ExecutorDetails> executors = new HashSet<>();
        for (List<Integer> range : worker.executors == null ? List.<List<Integer>>of()
                : worker.executors) {
            if (range == null || range.size() != 2) {
                throw new UnfitPlan("an executor is not a pair of its first and last task: " + range);
            }
            executors.add(new ExecutorDetails(range.get(0), range.get(1)));
        }
        return executors;
    }

    private static List<String> sorted(Set<ExecutorDetails> executors) {
        return executors.stream()
                .sorted((one, other) -> Integer.compare(one.getStartTask(), other.getStartTask()))
                .map(ExecutorDetails::toString)
                .toList();
    }
}
