package io.streamgauge.storm.bridge;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.BoltStats;
import org.apache.storm.generated.ExecutorStats;
import org.apache.storm.generated.ExecutorSummary;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.SpoutStats;
import org.apache.storm.generated.TopologyInfo;

/**
 * The counters that nimbus has of each executor, by its windows and by stream.
 *
 * <p>Executors that have not reported yet stand there without counters.
 */
final class Statistics {
    private Statistics() {
    }

    static Map<String, Object> of(TopologyInfo information) {
        List<Object> executors = new ArrayList<>();
        for (ExecutorSummary one : information.get_executors()) {
            executors.add(executor(one));
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", information.get_id());
        answer.put("name", information.get_name());
        answer.put("status", information.get_status());
        answer.put("uptime_seconds", information.get_uptime_secs());
        answer.put("read_at_us", System.currentTimeMillis() * 1000);
        answer.put("executors", executors);
        return answer;
    }

    private static Map<String, Object> executor(ExecutorSummary one) {
        Map<String, Object> executor = new LinkedHashMap<>();
        executor.put("component", one.get_component_id());
        executor.put("first_task", one.get_executor_info().get_task_start());
        executor.put("last_task", one.get_executor_info().get_task_end());
        executor.put("node", one.get_host());
        executor.put("port", one.get_port());
        executor.put("uptime_seconds", one.get_uptime_secs());
        if (one.is_set_stats()) {
            executor.put("counters", counters(one.get_stats()));
        }
        return executor;
    }

    private static Map<String, Object> counters(ExecutorStats stats) {
        Map<String, Object> counters = new LinkedHashMap<>();
        counters.put("rate", stats.get_rate());
        counters.put("emitted", stats.get_emitted());
        counters.put("transferred", stats.get_transferred());
        if (stats.get_specific().is_set_bolt()) {
            BoltStats bolt = stats.get_specific().get_bolt();
            counters.put("acked", bySource(bolt.get_acked()));
            counters.put("failed", bySource(bolt.get_failed()));
            counters.put("executed", bySource(bolt.get_executed()));
            counters.put("process_ms", bySource(bolt.get_process_ms_avg()));
            counters.put("execute_ms", bySource(bolt.get_execute_ms_avg()));
        }
        if (stats.get_specific().is_set_spout()) {
            SpoutStats spout = stats.get_specific().get_spout();
            counters.put("acked", spout.get_acked());
            counters.put("failed", spout.get_failed());
            counters.put("complete_ms", spout.get_complete_ms_avg());
        }
        return counters;
    }

    /** Window → a list of {source, stream, value}: a pair cannot be a key in JSON. */
    private static <N extends Number> Map<String, Object> bySource(
            Map<String, Map<GlobalStreamId, N>> windows) {
        Map<String, Object> answer = new LinkedHashMap<>();
        for (Map.Entry<String, Map<GlobalStreamId, N>> window : windows.entrySet()) {
            List<Object> values = new ArrayList<>();
            for (Map.Entry<GlobalStreamId, N> one : window.getValue().entrySet()) {
                values.add(Map.of(
                        "source", one.getKey().get_componentId(),
                        "stream", one.getKey().get_streamId(),
                        "value", one.getValue()));
            }
            answer.put(window.getKey(), values);
        }
        return answer;
    }
}
