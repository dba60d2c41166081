package io.streamgauge.storm.scheduler;

import com.google.gson.Gson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.ExecutorDetails;
import org.apache.storm.scheduler.SchedulerAssignment;
import org.apache.storm.scheduler.TopologyDetails;
import org.apache.storm.scheduler.WorkerSlot;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The folder of plan files; beside each plan lies what became of it. */
final class PlanFolder {
    private static final Logger LOG = LoggerFactory.getLogger(PlanFolder.class);
    private static final String IN_PLACE = "";

    private final Path folder;
    private final Map<String, String> said = new HashMap<>();

    PlanFolder(Path folder) {
        this.folder = folder;
    }

    /** Brings a topology into its plan; false where Storm shall place it. */
    boolean apply(TopologyDetails topology, Cluster cluster) {
        Path file = folder.resolve(topology.getName() + ".json");
        if (!Files.isRegularFile(file)) {
            said.remove(topology.getName());
            return false;
        }
        String trouble;
        try {
            Map<ExecutorDetails, WorkerSlot> wanted = Plan.read(file).slots(topology, cluster);
            place(topology, cluster, wanted);
            trouble = IN_PLACE;
        } catch (UnfitPlan error) {
            trouble = error.getMessage();
        }
        report(topology.getName(), trouble);
        return trouble.equals(IN_PLACE);
    }

    private static void place(
            TopologyDetails topology, Cluster cluster, Map<ExecutorDetails, WorkerSlot> wanted) {
        SchedulerAssignment present = cluster.getAssignmentById(topology.getId());
        if (present != null && present.getExecutorToSlot().equals(wanted)) {
            return;
        }
        cluster.freeSlots(List.copyOf(cluster.getUsedSlotsByTopologyId(topology.getId())));
        Map<WorkerSlot, List<ExecutorDetails>> bySlot = new LinkedHashMap<>();
        wanted.forEach((executor, slot) ->
                bySlot.computeIfAbsent(slot, ignored -> new java.util.ArrayList<>()).add(executor));
        bySlot.forEach((slot, executors) -> cluster.assign(slot, topology.getId(), executors));
    }

    /** Says once what became of a plan, in the log and in a file beside it. */
    private void report(String topology, String trouble) {
        if (trouble.equals(said.put(topology, trouble))) {
            return;
        }
        if (trouble.equals(IN_PLACE)) {
            LOG.info("the plan of {} is in place", topology);
        } else {
            LOG.warn("the plan of {} does not fit: {}", topology, trouble);
        }
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("topology", topology);
        status.put("fits", trouble.equals(IN_PLACE));
        status.put("trouble", trouble);
        Path unfinished = folder.resolve("." + topology + ".status");
        try {
            Files.writeString(unfinished, new Gson().toJson(status) + "\n");
            Files.move(unfinished, folder.resolve(topology + ".status"),
                    StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException error) {
            LOG.warn("the status of {} could not be written: {}", topology, error.toString());
        }
    }
}
