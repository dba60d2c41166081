package io.streamgauge.storm.agent;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.storm.utils.Utils;

/** What executors, nodes, machines and files are called. */
final class Names {
    static final String SYSTEM_PREFIX = "__";
    static final String ACK_INIT = "__ack_init";
    static final String ACK_ACK = "__ack_ack";
    static final String ACKER = "__acker";
    static final String SYSTEM = "__system";

    private static final Pattern EXECUTOR_THREAD =
        Pattern.compile("Thread-\\d+-(.+-executor\\[.+])");

    private Names() {
    }

    static String executor(String component, int first, int last) {
        return first == last
            ? component + "[" + first + "]"
            : component + "[" + first + "-" + last + "]";
    }

    /** The part of an executor's thread name that tells it from others, as the engine writes it. */
    static String executorThread(String component, int first, int last) {
        return component + "-executor[" + first + ", " + last + "]";
    }

    /** The same part of a thread's name, or null for other threads. */
    static String executorThread(String threadName) {
        Matcher found = EXECUTOR_THREAD.matcher(threadName);
        return found.matches() ? found.group(1) : null;
    }

    /** Streams that are part of a described job: its own, and two of the ackers'. */
    static boolean isCounted(String stream) {
        return !stream.startsWith(SYSTEM_PREFIX)
            || stream.equals(ACK_INIT) || stream.equals(ACK_ACK);
    }

    /** Metrics consumers, event loggers and the system's own: no part of a described job. */
    static boolean isForeign(String component) {
        return component.startsWith(SYSTEM_PREFIX) && !component.equals(ACKER);
    }

    /** The node as the cluster knows it. */
    static String node() {
        try {
            return Utils.hostname();
        } catch (UnknownHostException unknown) {
            return "localhost";
        }
    }

    /** The machine's own name, whatever its nodes are called. */
    static String machine() {
        try {
            String name = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
            if (!name.isEmpty()) {
                return name;
            }
        } catch (IOException notLinux) {
            // Asked below.
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unknown) {
            return "localhost";
        }
    }

    /** Whether a node is an address of this machine only, which it then shares with others. */
    static boolean isLoopback(String node) {
        try {
            return InetAddress.getByName(node).isLoopbackAddress();
        } catch (UnknownHostException unknown) {
            return false;
        }
    }

    /** A name that is safe in a file's name. */
    static String inFile(String name) {
        return name.replaceAll("[^A-Za-z0-9._-]", "_");
    }
}
