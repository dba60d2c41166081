package io.streamgauge.storm.agent;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/**
 * Samples of the node and the machine, written by one worker of each.
 *
 * <p>Who holds a lock on a file writes; when that process ends, the next one gets it. Only whole
 * buckets are written, so that two writers never claim the same time.
 */
final class HostSamples implements AutoCloseable {
    // Each worker has a temporary folder of its own; the lock must be where all of them look.
    private static final Path SHARED = Path.of("/tmp");

    private final Seat seat;
    private final String scope;
    private final boolean sharedMachine;
    private final Map<String, FileLock> locks = new HashMap<>();
    private ProcFiles.Machine before = ProcFiles.machine();

    /** Of the cluster that `scope` tells from others on the same machine. */
    HostSamples(Seat seat, String scope) {
        this.seat = seat;
        this.scope = scope;
        this.sharedMachine = Names.isLoopback(seat.node());
    }

    /** Whether this worker speaks for its node. */
    boolean speaksForNode() {
        return holds("node-" + seat.node());
    }

    void write(Bucket bucket) {
        ProcFiles.Machine now = ProcFiles.machine();
        ProcFiles.Machine last = before;
        before = now;
        if (!bucket.whole || now == null || last == null || now.cores() != last.cores()) {
            return;
        }
        int cores = Runtime.getRuntime().availableProcessors();
        // A container with a share of the cores says nothing of what else the machine does.
        boolean whole = cores == now.cores();
        long busy = Math.max(now.busy() - last.busy(), 0);
        // What a node uses is known where it has its machine for itself.
        if (whole && !sharedMachine && speaksForNode()) {
            bucket.spent(Subject.node(seat.node(), seat.machine()), "node_cpu", busy);
        }
        if (holds("machine-" + seat.machine())) {
            Subject machine = Subject.machine(seat.machine());
            if (whole) {
                bucket.spent(machine, "machine_cpu", busy);
            }
            bucket.spent(machine, "machine_stolen", Math.max(now.stolen() - last.stolen(), 0));
            bucket.gauge(machine, "machine_cores", cores, 1);
        }
    }

    private boolean holds(String what) {
        if (locks.containsKey(what)) {
            return true;
        }
        String name = "streamgauge-" + Names.inFile(scope + "-" + what) + ".lock";
        Path folder = Files.isDirectory(SHARED)
            ? SHARED : Path.of(System.getProperty("java.io.tmpdir"));
        FileChannel channel = null;
        try {
            channel = FileChannel.open(
                folder.resolve(name), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            FileLock lock = channel.tryLock();
            if (lock != null) {
                locks.put(what, lock);
                return true;
            }
        } catch (IOException | OverlappingFileLockException others) {
            // Somebody else's, or nobody can lock: then nobody writes twice.
        }
        closeQuietly(channel);
        return false;
    }

    private static void closeQuietly(FileChannel channel) {
        try {
            if (channel != null) {
                channel.close();
            }
        } catch (IOException ignored) {
            // Nothing was written.
        }
    }

    @Override
    public void close() {
        locks.values().forEach(lock -> closeQuietly((FileChannel) lock.acquiredBy()));
        locks.clear();
    }
}
