package io.streamgauge.storm.bridge;

import com.google.gson.Gson;
import io.streamgauge.storm.topology.ProgramException;
import io.streamgauge.storm.topology.ProgramTopology;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.AlreadyAliveException;
import org.apache.storm.generated.AuthorizationException;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.ExecutorSummary;
import org.apache.storm.generated.GetInfoOptions;
import org.apache.storm.generated.InvalidTopologyException;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.Nimbus;
import org.apache.storm.generated.NimbusSummary;
import org.apache.storm.generated.NotAliveException;
import org.apache.storm.generated.NumErrorsChoice;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.generated.SupervisorSummary;
import org.apache.storm.generated.TopologyInfo;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.thrift.TException;
import org.apache.storm.utils.NimbusClient;

/** What can be asked of nimbus, each as one method from arguments to an answer. */
final class Verbs {
    private final Map<String, Object> settings;

    Verbs(Map<String, Object> settings) {
        this.settings = settings;
    }

    /** Does what the word says; every call has a connection of its own, as nimbus may restart. */
    Map<String, Object> perform(String word, Map<String, Object> arguments) throws Failure {
        if (word.equals("ping")) {
            return Map.of();
        }
        try (NimbusClient connection = NimbusClient.Builder.withConf(settings).build()) {
            return perform(word, arguments, connection);
        } catch (NotAliveException error) {
            throw new Failure(Failure.Kind.UNKNOWN_TOPOLOGY, error.get_msg());
        } catch (AlreadyAliveException error) {
            throw new Failure(Failure.Kind.REFUSED, error.get_msg());
        } catch (InvalidTopologyException error) {
            throw new Failure(Failure.Kind.REFUSED, error.get_msg());
        } catch (AuthorizationException error) {
            throw new Failure(Failure.Kind.REFUSED, error.get_msg());
        } catch (ProgramException error) {
            throw new Failure(Failure.Kind.REFUSED, error.getMessage());
        } catch (TException error) {
            throw new Failure(Failure.Kind.UNREACHABLE, rootOf(error));
        } catch (RuntimeException error) {
            // Storm's client wraps whatever it meets on the way to nimbus.
            boolean lost = isLost(error);
            throw new Failure(
                    lost ? Failure.Kind.UNREACHABLE : Failure.Kind.INTERNAL, rootOf(error));
        } catch (IOException error) {
            throw new Failure(Failure.Kind.REFUSED, String.valueOf(error));
        }
    }

    private Map<String, Object> perform(
            String word, Map<String, Object> arguments, NimbusClient connection)
            throws Failure, TException, IOException {
        Nimbus.Iface nimbus = connection.getClient();
        switch (word) {
            case "cluster":
                return cluster(nimbus.getClusterInfo());
            case "topology":
                return Structure.of(nimbus, idOf(nimbus, arguments));
            case "assignment":
                return assignment(information(nimbus, arguments));
            case "statistics":
                return Statistics.of(information(nimbus, arguments));
            case "submit":
                return submit(arguments, connection);
            case "kill":
                KillOptions kill = new KillOptions();
                kill.set_wait_secs(number(arguments, "wait_seconds", 0));
                nimbus.killTopologyWithOpts(text(arguments, "topology"), kill);
                return Map.of();
            case "rebalance":
                nimbus.rebalance(text(arguments, "topology"), rebalancing(arguments));
                return Map.of();
            case "activate":
                nimbus.activate(text(arguments, "topology"));
                return Map.of();
            case "deactivate":
                nimbus.deactivate(text(arguments, "topology"));
                return Map.of();
            default:
                throw new Failure(Failure.Kind.REFUSED, "unknown verb " + word);
        }
    }

    private static Map<String, Object> cluster(ClusterSummary summary) {
        List<Object> supervisors = new ArrayList<>();
        for (SupervisorSummary one : summary.get_supervisors()) {
            Map<String, Object> supervisor = new LinkedHashMap<>();
            supervisor.put("id", one.get_supervisor_id());
            supervisor.put("host", one.get_host());
            supervisor.put("slots", one.get_num_workers());
            supervisor.put("used_slots", one.get_num_used_workers());
            supervisor.put("uptime_seconds", one.get_uptime_secs());
            supervisor.put("version", one.get_version());
            supervisor.put(
                    "resources", one.is_set_total_resources() ? one.get_total_resources() : Map.of());
            supervisors.add(supervisor);
        }
        List<Object> topologies = new ArrayList<>();
        for (TopologySummary one : summary.get_topologies()) {
            Map<String, Object> topology = new LinkedHashMap<>();
            topology.put("id", one.get_id());
            topology.put("name", one.get_name());
            topology.put("status", one.get_status());
            topology.put("tasks", one.get_num_tasks());
            topology.put("executors", one.get_num_executors());
            topology.put("workers", one.get_num_workers());
            topology.put("uptime_seconds", one.get_uptime_secs());
            topologies.add(topology);
        }
        List<Object> nimbuses = new ArrayList<>();
        for (NimbusSummary one : summary.get_nimbuses()) {
            Map<String, Object> nimbus = new LinkedHashMap<>();
            nimbus.put("host", one.get_host());
            nimbus.put("port", one.get_port());
            nimbus.put("leader", one.is_isLeader());
            nimbus.put("uptime_seconds", one.get_uptime_secs());
            nimbus.put("version", one.get_version());
            nimbuses.add(nimbus);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("nimbuses", nimbuses);
        answer.put("supervisors", supervisors);
        answer.put("topologies", topologies);
        return answer;
    }

    private static Map<String, Object> assignment(TopologyInfo information) {
        List<Object> executors = new ArrayList<>();
        for (ExecutorSummary one : information.get_executors()) {
            Map<String, Object> executor = new LinkedHashMap<>();
            executor.put("component", one.get_component_id());
            executor.put("first_task", one.get_executor_info().get_task_start());
            executor.put("last_task", one.get_executor_info().get_task_end());
            executor.put("node", one.get_host());
            executor.put("port", one.get_port());
            executor.put("uptime_seconds", one.get_uptime_secs());
            executors.add(executor);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", information.get_id());
        answer.put("name", information.get_name());
        answer.put("status", information.get_status());
        answer.put("read_at_us", System.currentTimeMillis() * 1000);
        answer.put("executors", executors);
        return answer;
    }

    private Map<String, Object> submit(Map<String, Object> arguments, NimbusClient connection)
            throws Failure, TException, IOException {
        String program = arguments.containsKey("program")
                ? text(arguments, "program")
                : Files.readString(Path.of(text(arguments, "program_file")));
        Map<String, Object> configuration = new HashMap<>(ProgramTopology.configuration(program));
        configuration.putAll(mapping(arguments, "configuration"));
        configuration.putAll(StormSubmitter.prepareZookeeperAuthentication(configuration));
        StormTopology topology = ProgramTopology.build(program);
        String uploaded = StormSubmitter.submitJarAs(
                settings, text(arguments, "jar"), null, connection);
        connection.getClient().submitTopology(
                text(arguments, "topology"), uploaded, new Gson().toJson(configuration), topology);
        return Map.of();
    }

    private static RebalanceOptions rebalancing(Map<String, Object> arguments) throws Failure {
        RebalanceOptions options = new RebalanceOptions();
        options.set_wait_secs(number(arguments, "wait_seconds", 0));
        if (arguments.containsKey("workers")) {
            options.set_num_workers(number(arguments, "workers", 1));
        }
        Map<String, Integer> executors = new HashMap<>();
        for (Map.Entry<String, Object> one : mapping(arguments, "executors").entrySet()) {
            executors.put(one.getKey(), ((Number) one.getValue()).intValue());
        }
        if (!executors.isEmpty()) {
            options.set_num_executors(executors);
        }
        return options;
    }

    private static TopologyInfo information(Nimbus.Iface nimbus, Map<String, Object> arguments)
            throws Failure, TException {
        GetInfoOptions options = new GetInfoOptions();
        options.set_num_err_choice(NumErrorsChoice.NONE);
        return nimbus.getTopologyInfoByNameWithOpts(text(arguments, "topology"), options);
    }

    private static String idOf(Nimbus.Iface nimbus, Map<String, Object> arguments)
            throws Failure, TException {
        return nimbus.getTopologySummaryByName(text(arguments, "topology")).get_id();
    }

    private static String text(Map<String, Object> arguments, String name) throws Failure {
        Object value = arguments.get(name);
        if (value instanceof String text) {
            return text;
        }
        throw new Failure(Failure.Kind.REFUSED, "no text given as " + name);
    }

    private static int number(Map<String, Object> arguments, String name, int otherwise)
            throws Failure {
        Object value = arguments.getOrDefault(name, otherwise);
        if (value instanceof Number number) {
            return number.intValue();
        }
        throw new Failure(Failure.Kind.REFUSED, "no number given as " + name);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> mapping(Map<String, Object> arguments, String name)
            throws Failure {
        Object value = arguments.getOrDefault(name, Map.of());
        if (value instanceof Map) {
            return (Map<String, Object>) value;
        }
        throw new Failure(Failure.Kind.REFUSED, "no mapping given as " + name);
    }

    private static boolean isLost(Throwable error) {
        for (Throwable one = error; one != null; one = one.getCause()) {
            if (one instanceof TException || one instanceof IOException
                    || one instanceof org.apache.storm.utils.NimbusLeaderNotFoundException) {
                return true;
            }
        }
        return false;
    }

    private static String rootOf(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }
}
