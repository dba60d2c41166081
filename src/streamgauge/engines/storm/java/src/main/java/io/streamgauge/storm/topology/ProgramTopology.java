package io.streamgauge.storm.topology;

import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** Builds what Storm runs from a program. */
public final class ProgramTopology {
    private ProgramTopology() {
    }

    /**
     * The topology that a program describes.
     *
     * @throws ProgramException where the program is none; the message says where
     */
    public static StormTopology build(String json) {
        Program program = Program.parse(json);
        Program.Shared shared = program.shared();
        TopologyBuilder builder = new TopologyBuilder();
        for (Program.Source source : program.sources()) {
            Program.Component component = source.component();
            builder.setSpout(
                    component.name(), new PacedSpout(shared, source), component.executors())
                    .setNumTasks(component.tasks());
        }
        for (Program.Bolt bolt : program.bolts()) {
            Program.Component component = bolt.component();
            BoltDeclarer declarer = builder
                    .setBolt(component.name(), make(shared, bolt), component.executors())
                    .setNumTasks(component.tasks());
            for (Program.Input input : bolt.inputs()) {
                subscribe(declarer, input, program.seed());
            }
        }
        return builder.createTopology();
    }

    /** Storm's settings for the topology, those of the job included. */
    public static Map<String, Object> configuration(String json) {
        return new TreeMap<>(Program.parse(json).configuration());
    }

    static IRichBolt make(Program.Shared shared, Program.Bolt bolt) {
        if (bolt.window() != null) {
            return new WindowBolt(shared, bolt);
        }
        if (bolt.joinWithinSeconds() > 0.0) {
            return new JoinBolt(shared, bolt);
        }
        return new WorkBolt(shared, bolt);
    }

    private static void subscribe(BoltDeclarer declarer, Program.Input input, long seed) {
        String source = input.source();
        String stream = input.stream();
        Fields key = new Fields(Outlets.KEY);
        switch (input.grouping().kind()) {
            case "shuffle" -> declarer.shuffleGrouping(source, stream);
            case "local-or-shuffle" -> declarer.localOrShuffleGrouping(source, stream);
            case "fields" -> declarer.fieldsGrouping(source, stream, key);
            case "partial-key" -> declarer.partialKeyGrouping(source, stream, key);
            case "all" -> declarer.allGrouping(source, stream);
            case "global" -> declarer.globalGrouping(source, stream);
            case "direct" -> declarer.directGrouping(source, stream);
            default -> declarer.customGrouping(
                    source, stream, new ShareGrouping(input.grouping().cumulative(), seed));
        }
    }
}
