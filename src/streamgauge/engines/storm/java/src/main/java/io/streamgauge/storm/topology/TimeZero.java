package io.streamgauge.storm.topology;

/**
 * The moment that shapes of rates count from: when the topology was submitted, which all its tasks
 * know alike, whichever worker they run in and however often that is started anew.
 *
 * @param epochSecond in seconds since 1970
 */
record TimeZero(long epochSecond) {
    private static final double NANOS = 1e9;

    /** From a topology's id, which ends in the second of its submission. */
    static TimeZero of(String topologyId) {
        String last = topologyId.substring(topologyId.lastIndexOf('-') + 1);
        return new TimeZero(last.matches("\\d{1,12}") ? Long.parseLong(last) : 0);
    }

    double seconds(long nanos) {
        return (nanos - epochSecond * 1_000_000_000L) / NANOS;
    }

    /** The moment in nanoseconds since 1970; infinities are the first and the last there is. */
    long nanos(double seconds) {
        if (Double.isInfinite(seconds)) {
            return seconds > 0.0 ? Long.MAX_VALUE : Long.MIN_VALUE;
        }
        return epochSecond * 1_000_000_000L + (long) (seconds * NANOS);
    }
}
