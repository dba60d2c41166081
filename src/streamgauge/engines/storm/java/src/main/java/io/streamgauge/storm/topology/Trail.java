package io.streamgauge.storm.topology;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The way of a traced tuple so far; tuples of sampled roots carry it as bytes.
 *
 * @param root id of the root
 * @param number tells the ways of one root apart; 0 where it never forked, or always went first
 * @param hops the tasks it met, the source first
 */
record Trail(long root, int number, List<Hop> hops) {

    /**
     * A task on the way, with times by the machine's clock in nanoseconds since 1970.
     *
     * @param stream by which it came; empty at the source
     * @param key it came with; empty for none
     * @param arrived when it was due at a source; else when it started, as Storm does not tell
     */
    record Hop(
            String component,
            int task,
            String stream,
            String key,
            long arrived,
            long started,
            long finished) {
    }

    /** One hop further. */
    Trail then(Hop hop) {
        List<Hop> more = new ArrayList<>(hops);
        more.add(hop);
        return new Trail(root, number, List.copyOf(more));
    }

    /** The trail of one of several tuples, or copies, that go on from here. */
    Trail fork(int branch) {
        if (branch == 0) {
            return this;
        }
        long mixed = (number * 31L + hops.size()) * 0x9E3779B97F4A7C15L + branch;
        mixed = (mixed ^ (mixed >>> 29)) * 0xBF58476D1CE4E5B9L;
        return new Trail(root, (int) (mixed >>> 33), hops);
    }

    byte[] bytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeLong(root);
            out.writeInt(number);
            out.writeInt(hops.size());
            for (Hop hop : hops) {
                out.writeUTF(hop.component);
                out.writeInt(hop.task);
                out.writeUTF(hop.stream);
                out.writeUTF(hop.key);
                out.writeLong(hop.arrived);
                out.writeLong(hop.started);
                out.writeLong(hop.finished);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return bytes.toByteArray();
    }

    static Trail of(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            long root = in.readLong();
            int number = in.readInt();
            Hop[] hops = new Hop[in.readInt()];
            for (int index = 0; index < hops.length; index++) {
                hops[index] = new Hop(in.readUTF(), in.readInt(), in.readUTF(), in.readUTF(),
                        in.readLong(), in.readLong(), in.readLong());
            }
            return new Trail(root, number, List.of(hops));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
