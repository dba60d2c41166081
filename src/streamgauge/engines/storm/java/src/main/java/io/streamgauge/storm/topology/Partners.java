package io.streamgauge.storm.topology;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Tuples of a join that wait for those of the same key, by input and in the order of coming.
 *
 * @param <T> what is kept of a tuple
 */
final class Partners<T> {
    private final int inputs;
    private final long withinNanos;
    private final Map<String, List<Deque<Waiting<T>>>> byKey = new HashMap<>();
    private final Deque<Waiting<T>> byAge = new ArrayDeque<>();

    private static final class Waiting<T> {
        private final T kept;
        private final String key;
        private final int input;
        private final long since;
        private boolean gone;

        Waiting(T kept, String key, int input, long since) {
            this.kept = kept;
            this.key = key;
            this.input = input;
            this.since = since;
        }
    }

    Partners(int inputs, long withinNanos) {
        this.inputs = inputs;
        this.withinNanos = withinNanos;
    }

    /** Forget those that have waited too long; which they were. */
    List<T> drop(long now) {
        List<T> dropped = new ArrayList<>();
        while (!byAge.isEmpty()) {
            Waiting<T> oldest = byAge.peekFirst();
            if (!oldest.gone && now - oldest.since < withinNanos) {
                break;
            }
            byAge.pollFirst();
            if (!oldest.gone) {
                // The oldest of all is the first of its own queue.
                List<Deque<Waiting<T>>> queues = byKey.get(oldest.key);
                queues.get(oldest.input).pollFirst();
                forgetIfEmpty(oldest.key, queues);
                dropped.add(oldest.kept);
            }
        }
        return dropped;
    }

    /** Keep one more; if that completes a set, one of each input, else nothing. */
    List<T> add(String key, int input, T kept, long now) {
        Waiting<T> waiting = new Waiting<>(kept, key, input, now);
        List<Deque<Waiting<T>>> queues = byKey.computeIfAbsent(key, any -> empty());
        queues.get(input).addLast(waiting);
        byAge.addLast(waiting);
        if (queues.stream().anyMatch(Deque::isEmpty)) {
            return List.of();
        }
        List<T> found = new ArrayList<>(inputs);
        for (Deque<Waiting<T>> queue : queues) {
            Waiting<T> first = queue.pollFirst();
            first.gone = true;
            found.add(first.kept);
        }
        forgetIfEmpty(key, queues);
        return found;
    }

    private List<Deque<Waiting<T>>> empty() {
        List<Deque<Waiting<T>>> queues = new ArrayList<>(inputs);
        for (int input = 0; input < inputs; input++) {
            queues.add(new ArrayDeque<>(1));
        }
        return queues;
    }

    private void forgetIfEmpty(String key, List<Deque<Waiting<T>>> queues) {
        if (queues.stream().allMatch(Deque::isEmpty)) {
            byKey.remove(key);
        }
    }
}
