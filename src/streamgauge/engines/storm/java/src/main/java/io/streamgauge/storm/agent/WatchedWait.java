package io.streamgauge.storm.agent;

import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.policy.IWaitStrategy;
import org.apache.storm.policy.WaitStrategyProgressive;
import org.apache.storm.utils.ReflectionUtils;

/**
 * The wait strategy that the topology asked for, with a clock around it.
 *
 * <p>The reporter puts it in the place of the others when a worker starts. What it knows, how long
 * an executor's thread had nothing to do, is told by no metric of the engine.
 */
public final class WatchedWait implements IWaitStrategy {
    private static final String ORIGINAL = "streamgauge.agent.original.";
    private static final String DEFAULT = WaitStrategyProgressive.class.getName();
    private static final String[] KEYS = {
        Config.TOPOLOGY_BOLT_WAIT_STRATEGY,
        Config.TOPOLOGY_SPOUT_WAIT_STRATEGY,
        Config.TOPOLOGY_BACKPRESSURE_WAIT_STRATEGY,
    };

    private IWaitStrategy original;
    private Agent agent;
    private boolean forTuples;
    private boolean forRoom;
    private Owner owner = new Owner(null, null);

    /** The thread that waits here, always the same one, and its executor; null where unknown. */
    private record Owner(Thread thread, ExecutorTally executor) {
    }

    /** Puts this class in the place of all wait strategies that a worker's configuration names. */
    static void install(Map<String, Object> conf) {
        for (String key : KEYS) {
            Object name = conf.get(key);
            if (name instanceof String && !name.equals(WatchedWait.class.getName())) {
                conf.put(ORIGINAL + key, name);
                conf.put(key, WatchedWait.class.getName());
            }
        }
    }

    /** The strategy that the topology itself asked for under a key. */
    static Object original(Map<String, Object> conf, String key) {
        Object name = conf.get(ORIGINAL + key);
        return name != null ? name : conf.get(key);
    }

    @Override
    public void prepare(Map<String, Object> conf, WaitSituation situation) {
        String key = switch (situation) {
            case BOLT_WAIT -> Config.TOPOLOGY_BOLT_WAIT_STRATEGY;
            case SPOUT_WAIT -> Config.TOPOLOGY_SPOUT_WAIT_STRATEGY;
            case BACK_PRESSURE_WAIT -> Config.TOPOLOGY_BACKPRESSURE_WAIT_STRATEGY;
        };
        String name = (String) conf.getOrDefault(ORIGINAL + key, DEFAULT);
        original = ReflectionUtils.newInstance(name);
        original.prepare(conf, situation);
        agent = Agent.of(conf);
        forTuples = situation == WaitSituation.BOLT_WAIT;
        forRoom = situation == WaitSituation.BACK_PRESSURE_WAIT;
    }

    @Override
    public int idle(int idleCounter) throws InterruptedException {
        ExecutorTally mine = agent == null ? null : executor();
        if (mine == null) {
            return original.idle(idleCounter);
        }
        // An idle bolt waits again and again, and does nothing in between but look for tuples.
        boolean goesOn = forTuples && idleCounter > 0 && mine.isWatched();
        long before = goesOn ? mine.freeSince() : System.nanoTime();
        if (!forRoom && !goesOn && mine.waits.isLooking()) {
            mine.waits.begin(mine.ownThread());
        }
        try {
            return original.idle(idleCounter);
        } finally {
            long after = System.nanoTime();
            if (forRoom) {
                mine.wasHeld(before, after);
            } else {
                mine.waited(before, after);
                mine.waits.end(mine.ownThread());
            }
        }
    }

    private ExecutorTally executor() {
        Thread now = Thread.currentThread();
        Owner known = owner;
        if (known.thread != now) {
            known = new Owner(now, agent.executorOf(now));
            owner = known;
        }
        return known.executor;
    }
}
