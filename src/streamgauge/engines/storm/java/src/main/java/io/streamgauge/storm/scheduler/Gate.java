package io.streamgauge.storm.scheduler;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.apache.storm.scheduler.Cluster;
import org.apache.storm.scheduler.TopologyDetails;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps new topologies waiting while a file in the folder of plans says that they shall, and why.
 *
 * <p>A topology that has run goes on. One that has a file NAME.released does not wait. A file that
 * nobody has written anew for a while counts no more: whoever closed the gate is gone.
 */
final class Gate {
    static final String CLOSED = "admission.closed";
    static final String RELEASED = ".released";
    static final long PATIENCE_MILLIS = 300_000;
    private static final Logger LOG = LoggerFactory.getLogger(Gate.class);

    private final Path folder;
    private final Set<String> admitted = new HashSet<>();
    private final Set<String> waiting = new HashSet<>();

    Gate(Path folder) {
        this.folder = folder;
    }

    /** Whether a topology has to wait; its status then says why, and what lets it in. */
    boolean holds(TopologyDetails topology, Cluster cluster) {
        String id = topology.getId();
        String name = topology.getName();
        if (cluster.getAssignmentById(id) != null && admitted.add(id)) {
            forgetRelease(name);
        }
        String reason = admitted.contains(id) || isReleased(name) ? null : reason();
        if (reason == null) {
            waiting.remove(id);
            return false;
        }
        cluster.setStatus(id, "waits: " + reason + "; streamgauge storm release " + name
                + " lets it in");
        if (waiting.add(id)) {
            LOG.info("{} waits: {}", name, reason);
        }
        return true;
    }

    private boolean isReleased(String name) {
        return Files.exists(folder.resolve(name + RELEASED));
    }

    /** A release is for one topology, not for the next of its name. */
    private void forgetRelease(String name) {
        try {
            Files.deleteIfExists(folder.resolve(name + RELEASED));
        } catch (IOException kept) {
            LOG.warn("{}{} could not be removed: {}", name, RELEASED, kept.toString());
        }
    }

    /** Why the gate is closed, or null. */
    private String reason() {
        Path file = folder.resolve(CLOSED);
        try {
            if (!Files.exists(file)) {
                return null;
            }
            long age = System.currentTimeMillis() - Files.getLastModifiedTime(file).toMillis();
            return age > PATIENCE_MILLIS ? null : Files.readString(file).strip();
        } catch (IOException gone) {
            return null;
        }
    }
}
