package io.streamgauge.storm.bridge;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import com.google.gson.reflect.TypeToken;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectStreamClass;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.StreamInfo;
import org.apache.storm.thrift.TException;

/** The graph of a running topology, with its ackers, and its configuration. */
final class Structure {
    private static final Gson GSON = new GsonBuilder()
            .setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE)
            .create();

    private Structure() {
    }

    static Map<String, Object> of(Nimbus.Iface nimbus, String id) throws TException {
        StormTopology topology = nimbus.getTopology(id);
        Map<String, Object> components = new TreeMap<>();
        for (Map.Entry<String, SpoutSpec> one : topology.get_spouts().entrySet()) {
            components.put(one.getKey(), component("spout", one.getValue().get_common()));
        }
        for (Map.Entry<String, Bolt> one : topology.get_bolts().entrySet()) {
            components.put(one.getKey(), component("bolt", one.getValue().get_common()));
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", id);
        answer.put("components", components);
        answer.put("configuration", parsed(nimbus.getTopologyConf(id)));
        return answer;
    }

    private static Map<String, Object> component(String kind, ComponentCommon common) {
        Map<String, Object> configuration = parsed(common.get_json_conf());
        int executors = common.is_set_parallelism_hint() ? common.get_parallelism_hint() : 1;
        Map<String, Object> streams = new TreeMap<>();
        for (Map.Entry<String, StreamInfo> one : common.get_streams().entrySet()) {
            streams.put(one.getKey(), Map.of(
                    "fields", one.getValue().get_output_fields(),
                    "direct", one.getValue().is_direct()));
        }
        List<Object> inputs = new ArrayList<>();
        for (Map.Entry<GlobalStreamId, Grouping> one : common.get_inputs().entrySet()) {
            Map<String, Object> input = new LinkedHashMap<>();
            input.put("source", one.getKey().get_componentId());
            input.put("stream", one.getKey().get_streamId());
            input.put("grouping", grouping(one.getValue()));
            inputs.add(input);
        }
        Map<String, Object> component = new LinkedHashMap<>();
        component.put("kind", kind);
        component.put("tasks", configuration.getOrDefault(Config.TOPOLOGY_TASKS, executors));
        component.put("executors", executors);
        component.put("streams", streams);
        component.put("inputs", inputs);
        return component;
    }

    private static Map<String, Object> grouping(Grouping grouping) {
        if (grouping.is_set_fields()) {
            // Storm writes the global grouping as one by no field at all.
            List<String> fields = grouping.get_fields();
            return fields.isEmpty()
                    ? Map.of("kind", "global")
                    : Map.of("kind", "fields", "fields", fields);
        }
        if (grouping.is_set_custom_object()) {
            return Map.of("kind", "custom",
                    "class", grouping.get_custom_object().get_full_class_name());
        }
        if (grouping.is_set_custom_serialized()) {
            return Map.of("kind", "custom", "class", classOf(grouping.get_custom_serialized()));
        }
        return Map.of("kind", grouping.getSetField().getFieldName().replace('_', '-'));
    }

    /** The name of a serialised object's class; nothing of the object is brought to life. */
    private static String classOf(byte[] serialised) {
        String[] name = {"unknown"};
        try (ObjectInputStream stream =
                new ObjectInputStream(new ByteArrayInputStream(serialised)) {
                    @Override
                    protected Class<?> resolveClass(ObjectStreamClass description)
                            throws ClassNotFoundException {
                        name[0] = description.getName();
                        throw new ClassNotFoundException(name[0]);
                    }
                }) {
            stream.readObject();
        } catch (IOException | ClassNotFoundException error) {
            return name[0];
        }
        return name[0];
    }

    private static Map<String, Object> parsed(String json) {
        Map<String, Object> parsed = json == null
                ? null
                : GSON.fromJson(json, new TypeToken<Map<String, Object>>() { }.getType());
        return parsed == null ? Map.of() : parsed;
    }
}
