package io.streamgauge.storm.agent;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.storm.generated.NodeInfo;
import org.apache.storm.task.WorkerTopologyContext;
import org.apache.storm.tuple.Tuple;

/**
 * Where tasks run, as this worker's own connections have it.
 *
 * <p>A hook's context does not say it, but the context of tuples does.
 */
final class Assignment {
    private volatile AtomicReference<Map<Integer, NodeInfo>> places;
    private volatile AtomicReference<Map<String, String>> hosts;

    void saw(Tuple tuple) {
        if (places == null && tuple.getContext() instanceof WorkerTopologyContext context) {
            hosts = context.getNodeToHost();
            places = context.getTaskToNodePort();
        }
    }

    /** The nodes that the topology runs on; empty where nobody knows. */
    Set<String> nodes() {
        AtomicReference<Map<String, String>> known = hosts;
        return known == null || known.get() == null
            ? Set.of() : new TreeSet<>(known.get().values());
    }

    /** Supervisor and port by task, as text to compare; empty where nobody knows. */
    Map<Integer, String> now() {
        AtomicReference<Map<Integer, NodeInfo>> known = places;
        Map<Integer, String> now = new HashMap<>();
        if (known != null && known.get() != null) {
            known.get().forEach((task, place) ->
                now.put(task, place.get_node() + ":" + place.get_port()));
        }
        return now;
    }
}
