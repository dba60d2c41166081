package io.streamgauge.storm.topology;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

/** Deals tuples at random by given shares: a row for each sending task, or one for all. */
final class ShareGrouping implements CustomStreamGrouping {
    private static final long serialVersionUID = 1L;

    private final double[][] cumulative;
    private final long seed;
    private transient List<Integer> senders;
    private transient List<Integer> targets;
    private transient String purpose;
    private transient String source;
    private transient Map<Integer, RandomGenerator> draws;

    ShareGrouping(double[][] cumulative, long seed) {
        this.cumulative = cumulative;
        this.seed = seed;
    }

    @Override
    public void prepare(
            WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targetTasks) {
        senders = context.getComponentTasks(stream.get_componentId()).stream().sorted().toList();
        targets = targetTasks.stream().sorted().toList();
        source = stream.get_componentId();
        purpose = "grouping " + stream.get_streamId() + " to " + targets.get(0);
        draws = new HashMap<>();
    }

    @Override
    public List<Integer> chooseTasks(int sender, List<Object> values) {
        int index = senders.indexOf(sender);
        double[] row = cumulative[cumulative.length == 1 ? 0 : index];
        RandomGenerator random =
                draws.computeIfAbsent(sender, any -> Draws.of(seed, source, index, purpose));
        return List.of(targets.get(Draws.place(row, random)));
    }
}
