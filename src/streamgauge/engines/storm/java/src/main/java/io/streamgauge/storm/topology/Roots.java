package io.streamgauge.storm.topology;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Where a tuple comes from: for each of its roots the source, when it was due, and when emitted.
 *
 * <p>Tuples carry them as bytes, since Storm's serialisation knows these without being told. A
 * tuple that follows from one other hands them on as they are; the result of a window or a join
 * has those of all its tuples, each as often as it came.
 */
final class Roots {
    /** Beyond this, so many picked at random stand for all: a tuple should not grow without end. */
    static final int MOST = 1000;
    /** When a root was due whose source has no schedule. */
    static final long NEVER_DUE = Long.MIN_VALUE;
    private static final int SIZE = Short.BYTES + Integer.BYTES + 2 * Long.BYTES;

    private Roots() {
    }

    /** Takes one root. */
    interface Visitor {
        /**
         * One root.
         *
         * @param source place of its source among the program's
         * @param clock by which its times are
         * @param due when it should have been emitted, in nanoseconds since 1970, or never
         * @param emitted when it was
         */
        void root(int source, int clock, long due, long emitted);
    }

    static byte[] one(int source, int clock, long due, long emitted) {
        return ByteBuffer.allocate(SIZE)
                .putShort((short) source).putInt(clock).putLong(due).putLong(emitted).array();
    }

    static int count(byte[] roots) {
        return roots.length / SIZE;
    }

    static void visit(byte[] roots, Visitor visitor) {
        ByteBuffer buffer = ByteBuffer.wrap(roots);
        while (buffer.hasRemaining()) {
            visitor.root(buffer.getShort(), buffer.getInt(), buffer.getLong(), buffer.getLong());
        }
    }

    /** The roots of several tuples together. */
    static byte[] join(List<byte[]> several, RandomGenerator random) {
        if (several.size() == 1) {
            return several.get(0);
        }
        int count = several.stream().mapToInt(Roots::count).sum();
        byte[] all = new byte[count * SIZE];
        int end = 0;
        for (byte[] one : several) {
            System.arraycopy(one, 0, all, end, one.length);
            end += one.length;
        }
        return count <= MOST ? all : picked(all, random);
    }

    private static byte[] picked(byte[] all, RandomGenerator random) {
        int left = count(all);
        byte[] some = new byte[MOST * SIZE];
        int taken = 0;
        for (int place = 0; taken < MOST; place++, left--) {
            // Each set of so many is as likely as any other.
            if (random.nextInt(left) < MOST - taken) {
                System.arraycopy(all, place * SIZE, some, taken * SIZE, SIZE);
                taken++;
            }
        }
        return some;
    }
}
