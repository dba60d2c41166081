package io.streamgauge.storm.agent;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.daemon.StormCommon;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.grouping.PartialKeyGrouping;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.utils.Utils;

/** A topology as a job file: operators, streams with their groupings, and configuration. */
final class JobDocument {
    static final String ENGINE = "storm-2";

    /** Settings that begin so are the topology's objective. */
    private static final String OBJECTIVE = "streamgauge.slo.";
    private static final double MILLIS = 1000.0;

    private JobDocument() {
    }

    /** The job file of a running topology, as JSON. */
    static String of(
        TopologyContext context, Map<String, Object> conf, List<Plans.Placed> plan) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("streamgauge", 1);
        document.put("topology", topology(context, conf));
        document.put("configuration", configuration(conf, plan));
        return new Gson().toJson(document);
    }

    private static Map<String, Object> topology(
        TopologyContext context, Map<String, Object> conf) {
        StormTopology topology = context.getRawTopology();
        Map<String, Object> operators = new LinkedHashMap<>();
        List<Object> streams = new ArrayList<>();
        for (Map.Entry<String, SpoutSpec> spout : new TreeMap<>(topology.get_spouts()).entrySet()) {
            Map<String, Object> operator = new LinkedHashMap<>();
            operator.put("kind", "source");
            operator.put("tasks", context.getComponentTasks(spout.getKey()).size());
            operators.put(spout.getKey(), operator);
        }
        for (Map.Entry<String, Bolt> bolt : new TreeMap<>(topology.get_bolts()).entrySet()) {
            String name = bolt.getKey();
            if (name.startsWith(Names.SYSTEM_PREFIX)) {
                continue;
            }
            ComponentCommon common = bolt.getValue().get_common();
            Map<String, Object> operator = new LinkedHashMap<>();
            operator.put("tasks", context.getComponentTasks(name).size());
            Map<String, Object> window = window(common);
            if (window != null) {
                operator.put("window", window);
            }
            operators.put(name, operator);
            for (Map.Entry<GlobalStreamId, Grouping> input :
                new TreeMap<>(common.get_inputs()).entrySet()) {
                streams.add(stream(context, name, input.getKey(), input.getValue()));
            }
        }
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("name", String.valueOf(conf.get(Config.TOPOLOGY_NAME)));
        if (StormCommon.hasAckers(conf)) {
            found.put("acked", true);
        }
        found.put("operators", operators);
        found.put("streams", streams);
        return found;
    }

    private static Map<String, Object> stream(
        TopologyContext context, String target, GlobalStreamId input, Grouping grouping) {
        Map<String, Object> stream = new LinkedHashMap<>();
        stream.put("from", input.get_componentId());
        stream.put("to", target);
        stream.put("stream", input.get_streamId());
        stream.put("grouping", grouping(context, target, input, grouping));
        return stream;
    }

    private static Object grouping(
        TopologyContext context, String target, GlobalStreamId input, Grouping grouping) {
        return switch (grouping.getSetField()) {
            case FIELDS -> grouping.get_fields().isEmpty()
                ? "global" : Map.of("fields", grouping.get_fields());
            case SHUFFLE, NONE -> "shuffle";
            case LOCAL_OR_SHUFFLE -> "local-or-shuffle";
            case ALL -> "all";
            case DIRECT -> "direct";
            default -> custom(context, target, input, grouping);
        };
    }

    /** Partial keys are known; of other groupings of a user's own, equal shares are supposed. */
    private static Object custom(
        TopologyContext context, String target, GlobalStreamId input, Grouping grouping) {
        if (isPartialKey(grouping)) {
            Fields keys = keysOf(grouping);
            Fields all = context.getComponentOutputFields(input);
            List<String> names = keys != null ? keys.toList() : all.toList().subList(0, 1);
            return Map.of("partial-key", names);
        }
        int tasks = context.getComponentTasks(target).size();
        return Map.of("custom", List.of(Collections.nCopies(tasks, 1.0 / tasks)));
    }

    private static boolean isPartialKey(Grouping grouping) {
        try {
            return grouping.is_set_custom_serialized() && deserialized(grouping)
                instanceof PartialKeyGrouping;
        } catch (RuntimeException unreadable) {
            return false;
        }
    }

    private static Serializable deserialized(Grouping grouping) {
        return Utils.javaDeserialize(grouping.get_custom_serialized(), Serializable.class);
    }

    private static Fields keysOf(Grouping partialKeys) {
        try {
            Field field = PartialKeyGrouping.class.getDeclaredField("fields");
            field.setAccessible(true);
            return (Fields) field.get(deserialized(partialKeys));
        } catch (ReflectiveOperationException | RuntimeException otherVersion) {
            return null;
        }
    }

    private static Map<String, Object> window(ComponentCommon common) {
        Map<String, Object> window = new LinkedHashMap<>();
        whole(common, Config.TOPOLOGY_BOLTS_WINDOW_LENGTH_COUNT, window, "length_tuples");
        seconds(common, Config.TOPOLOGY_BOLTS_WINDOW_LENGTH_DURATION_MS, window, "length_seconds");
        whole(common, Config.TOPOLOGY_BOLTS_SLIDING_INTERVAL_COUNT, window, "slide_tuples");
        seconds(common, Config.TOPOLOGY_BOLTS_SLIDING_INTERVAL_DURATION_MS, window,
            "slide_seconds");
        return window.isEmpty() ? null : window;
    }

    private static void whole(
        ComponentCommon common, String key, Map<String, Object> window, String name) {
        Double value = number(common, key);
        if (value != null) {
            window.put(name, value.longValue());
        }
    }

    private static void seconds(
        ComponentCommon common, String key, Map<String, Object> window, String name) {
        Double value = number(common, key);
        if (value != null) {
            window.put(name, value / MILLIS);
        }
    }

    private static Double number(ComponentCommon common, String key) {
        if (common.get_json_conf() == null) {
            return null;
        }
        JsonObject conf = JsonParser.parseString(common.get_json_conf()).getAsJsonObject();
        boolean given = conf.has(key) && conf.get(key).isJsonPrimitive();
        return given ? conf.get(key).getAsDouble() : null;
    }

    /** The worker's only task whose windows fire by a thread of their own, or one below zero. */
    static int onlyTimedWindow(WorkerTallies worker) {
        if (worker.context() == null) {
            return -1;
        }
        Map<String, Bolt> bolts = worker.context().getRawTopology().get_bolts();
        int only = -1;
        for (TaskTally task : worker.tasks()) {
            Bolt bolt = bolts.get(task.component);
            if (bolt == null || !isTimed(bolt.get_common())) {
                continue;
            }
            if (only >= 0) {
                return -1;
            }
            only = task.task;
        }
        return only;
    }

    private static boolean isTimed(ComponentCommon common) {
        Map<String, Object> window = window(common);
        if (window == null) {
            return false;
        }
        return window.containsKey("slide_seconds")
            || (window.containsKey("length_seconds") && !window.containsKey("slide_tuples"));
    }

    private static Map<String, Object> configuration(
        Map<String, Object> conf, List<Plans.Placed> plan) {
        Map<String, Object> executors = new TreeMap<>();
        Map<String, Boolean> workers = new HashMap<>();
        int ackers = 0;
        for (Plans.Placed one : plan) {
            workers.put(one.worker(), true);
            if (one.component().equals(Names.ACKER)) {
                ackers++;
            } else if (!one.component().startsWith(Names.SYSTEM_PREFIX)) {
                executors.merge(one.component(), 1, (a, b) -> (Integer) a + (Integer) b);
            }
        }
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("engine", ENGINE);
        found.put("executors", executors);
        found.put("workers", workers.size());
        if (StormCommon.hasAckers(conf)) {
            found.put("ackers", ackers);
        }
        found.put("settings", settings(conf));
        return found;
    }

    /**
     * Storm's own settings that the topology or its cluster has changed, and the topology's
     * objective; nothing else of users' own.
     */
    private static Map<String, Object> settings(Map<String, Object> conf) {
        Map<String, Object> defaults = Utils.readDefaultConfig();
        Map<String, Object> settings = new TreeMap<>();
        for (String key : conf.keySet()) {
            Object value = WatchedWait.original(conf, key);
            boolean scalar = value instanceof Number || value instanceof Boolean
                || value instanceof String;
            boolean elsewhere = key.equals(Config.TOPOLOGY_NAME)
                || key.equals(Config.TOPOLOGY_WORKERS)
                || key.equals(Config.TOPOLOGY_ACKER_EXECUTORS);
            boolean known = (key.startsWith("topology.") && defaults.containsKey(key))
                || key.startsWith(OBJECTIVE);
            if (known && scalar && !elsewhere && !value.equals(defaults.get(key))) {
                settings.put(key, value);
            }
        }
        return settings;
    }
}
