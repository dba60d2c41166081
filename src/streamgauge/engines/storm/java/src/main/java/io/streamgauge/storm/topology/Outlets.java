package io.streamgauge.storm.topology;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

/** The streams of one task: makes tuples with keys and payloads, and hands them to Storm. */
final class Outlets {
    static final String KEY = "key";
    static final String ROOTS = "roots";
    static final String TRAIL = "trail";
    static final String PAYLOAD = "payload";
    static final Fields FIELDS = new Fields(KEY, ROOTS, TRAIL, PAYLOAD);

    /** How Storm takes a tuple; bolts anchor it, sources give it an id. */
    interface Sender {
        /**
         * Send a tuple.
         *
         * @param task whom it is addressed to; null where groupings choose
         */
        void send(Integer task, String stream, Values values);
    }

    private final Map<String, Outlet> outlets = new HashMap<>();
    private final RandomGenerator random;

    Outlets(List<Program.Stream> streams, TopologyContext context, RandomGenerator random) {
        this.random = random;
        for (Program.Stream stream : streams) {
            outlets.put(stream.name(), new Outlet(stream, context));
        }
    }

    static void declare(List<Program.Stream> streams, OutputFieldsDeclarer declarer) {
        for (Program.Stream stream : streams) {
            declarer.declareStream(stream.name(), stream.directTo() != null, FIELDS);
        }
    }

    /** One tuple on a stream, with a key and a size of its own. */
    void emit(String stream, byte[] roots, Trail trail, Sender sender) {
        outlets.get(stream).emit(roots, trail, sender);
    }

    /** All that one input, or one window, leads to; of alternatives at most one. */
    void emit(
            List<Program.Output> outputs,
            boolean exclusive,
            byte[] roots,
            Trail trail,
            Sender sender) {
        int branch = 0;
        for (String stream : exclusive ? one(outputs) : all(outputs)) {
            emit(stream, roots, trail == null ? null : trail.fork(branch), sender);
            branch++;
        }
    }

    private List<String> all(List<Program.Output> outputs) {
        List<String> streams = new ArrayList<>();
        for (Program.Output output : outputs) {
            int count = (int) output.count().draw(random);
            for (int copy = 0; copy < count; copy++) {
                streams.add(output.stream());
            }
        }
        return streams;
    }

    private List<String> one(List<Program.Output> outputs) {
        double wanted = random.nextDouble();
        double reached = 0.0;
        for (Program.Output output : outputs) {
            reached += output.count().mean();
            if (wanted < reached) {
                return List.of(output.stream());
            }
        }
        return List.of();
    }

    /** One stream. */
    private final class Outlet {
        private final Program.Stream stream;
        private final Keys keys;
        private final List<Integer> addressees;
        private byte[] payload = {};

        Outlet(Program.Stream stream, TopologyContext context) {
            this.stream = stream;
            this.keys = stream.keys() == null ? null : new Keys(stream.keys());
            this.addressees = stream.directTo() == null
                    ? null
                    : context.getComponentTasks(stream.directTo());
        }

        void emit(byte[] roots, Trail trail, Sender sender) {
            String key = keys == null ? null : keys.draw(random);
            byte[] path = trail == null ? null : trail.bytes();
            // As large where it is traced: a size must not change with how many traces there are.
            int rest = stream.bytes() == null
                    ? 0
                    : (int) stream.bytes().draw(random) - roots.length
                            - (key == null ? 0 : key.length())
                            - (path == null ? 0 : path.length);
            Integer task = addressees == null
                    ? null
                    : addressees.get(random.nextInt(addressees.size()));
            sender.send(task, stream.name(), new Values(key, roots, path, payload(rest)));
        }

        /** Nobody writes to a payload, so tuples of one size share it. */
        private byte[] payload(int size) {
            if (payload.length != Math.max(size, 0)) {
                payload = new byte[Math.max(size, 0)];
            }
            return payload;
        }
    }
}
