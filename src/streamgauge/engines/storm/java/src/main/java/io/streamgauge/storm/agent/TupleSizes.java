package io.streamgauge.storm.agent;

import java.util.Map;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.serialization.KryoTupleSerializer;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.TupleImpl;

/**
 * Sizes of emitted tuples: one in some is serialised as if it went to another worker.
 *
 * <p>It is without anchors, which add eighteen bytes or so a root.
 */
final class TupleSizes {
    private static final int EVERY = 256;
    /** After so many the next ones are twice as rare, a few times over. */
    private static final int RARER_AFTER = 64;
    private static final int MOST_DOUBLINGS = 4;

    private final Map<String, Object> conf;
    private final TopologyContext context;
    private KryoTupleSerializer serializer;
    private int until;
    private int measured;
    private boolean off;

    TupleSizes(Map<String, Object> conf, TopologyContext context) {
        this.conf = conf;
        this.context = context;
    }

    /** Measures the tuple if it is its turn. */
    void sample(OutputTally output, EmitInfo info) {
        // Several threads may emit for one task: a turn lost or taken twice does no harm.
        if (off || --until >= 0 || info.stream.startsWith(Names.SYSTEM_PREFIX)) {
            return;
        }
        until = (EVERY << Math.min(measured / RARER_AFTER, MOST_DOUBLINGS)) - 1;
        measured++;
        measure(output, info);
    }

    private synchronized void measure(OutputTally output, EmitInfo info) {
        try {
            if (serializer == null) {
                serializer = new KryoTupleSerializer(conf, context);
            }
            TupleImpl tuple = new TupleImpl(
                context, info.values, context.getThisComponentId(), info.taskId, info.stream);
            output.bytes.add(serializer.serialize(tuple).length);
        } catch (Throwable notSerializable) {
            // Tuples that never leave their worker need not be serialisable.
            off = true;
        }
    }
}
