package io.streamgauge.storm.topology;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;

/** A task without a cluster: the first of its component, and what it hands to Storm. */
final class Task {
    final List<Sent> sent = new ArrayList<>();
    final List<Tuple> acked = new ArrayList<>();
    final List<Tuple> failed = new ArrayList<>();
    final TopologyContext context;
    private final Map<String, Object> configuration = new HashMap<>();

    /** A tuple that was emitted; the id is a source's, the anchors a bolt's. */
    record Sent(
            String stream,
            Integer task,
            Collection<Tuple> anchors,
            Object id,
            List<Object> values) {
        byte[] roots() {
            return (byte[]) values.get(1);
        }

        Trail trail() {
            return values.get(2) == null ? null : Trail.of((byte[]) values.get(2));
        }

        int payload() {
            return ((byte[]) values.get(3)).length;
        }
    }

    Task(String json, String component, Map<String, Object> more) {
        Program program = Program.parse(json);
        Map<Integer, String> owners = new HashMap<>();
        Map<String, List<Integer>> tasks = new HashMap<>();
        Map<String, Map<String, Fields>> fields = new HashMap<>();
        List<Program.Component> components = new ArrayList<>();
        program.sources().forEach(one -> components.add(one.component()));
        program.bolts().forEach(one -> components.add(one.component()));
        for (Program.Component one : components) {
            Map<String, Fields> streams = new HashMap<>();
            one.streams().forEach(stream -> streams.put(stream.name(), Outlets.FIELDS));
            fields.put(one.name(), streams);
            for (int count = 0; count < one.tasks(); count++) {
                int id = owners.size() + 1;
                owners.put(id, one.name());
                tasks.computeIfAbsent(one.name(), any -> new ArrayList<>()).add(id);
            }
        }
        configuration.put("topology.message.timeout.secs", 30);
        configuration.putAll(more);
        context = new TopologyContext(null, configuration, owners, tasks, fields, new HashMap<>(),
                "t-1-1700000000", null, null, tasks.get(component).get(0), 6700, List.of(),
                Map.of(), Map.of(), new HashMap<>(), new HashMap<>(), new AtomicBoolean(), null);
    }

    Map<String, Object> configuration() {
        return configuration;
    }

    /** A tuple of a root that was due at that time, as it comes from another component. */
    Tuple tuple(String source, String key, long due) {
        return tuple(source, key, due, null);
    }

    Tuple tuple(String source, String key, long due, Trail trail) {
        return tuple(source, key, Roots.one(0, Clock.identity(), due, due), trail);
    }

    Tuple tuple(String source, String key, byte[] roots, Trail trail) {
        byte[] path = trail == null ? null : trail.bytes();
        return new TupleImpl(
                context, new Values(key, roots, path, new byte[0]), source, 1, "default");
    }

    OutputCollector collector() {
        return new OutputCollector(new IOutputCollector() {
            @Override
            public List<Integer> emit(
                    String stream, Collection<Tuple> anchors, List<Object> values) {
                sent.add(new Sent(stream, null, anchors, null, values));
                return List.of();
            }

            @Override
            public void emitDirect(
                    int task, String stream, Collection<Tuple> anchors, List<Object> values) {
                sent.add(new Sent(stream, task, anchors, null, values));
            }

            @Override
            public void ack(Tuple tuple) {
                acked.add(tuple);
            }

            @Override
            public void fail(Tuple tuple) {
                failed.add(tuple);
            }

            @Override
            public void resetTimeout(Tuple tuple) {
            }

            @Override
            public void flush() {
            }

            @Override
            public void reportError(Throwable error) {
                throw new AssertionError(error);
            }
        });
    }

    SpoutOutputCollector spoutCollector() {
        return new SpoutOutputCollector(new ISpoutOutputCollector() {
            @Override
            public List<Integer> emit(String stream, List<Object> values, Object id) {
                sent.add(new Sent(stream, null, List.of(), id, values));
                return List.of();
            }

            @Override
            public void emitDirect(int task, String stream, List<Object> values, Object id) {
                sent.add(new Sent(stream, task, List.of(), id, values));
            }

            @Override
            public long getPendingCount() {
                return 0;
            }

            @Override
            public void flush() {
            }

            @Override
            public void reportError(Throwable error) {
                throw new AssertionError(error);
            }
        });
    }
}
