package io.streamgauge.storm.scheduler;

/** A plan that cannot be read, or that does not fit its topology or the cluster as they are. */
final class UnfitPlan extends Exception {
    private static final long serialVersionUID = 1L;

    UnfitPlan(String message) {
        super(message);
    }
}
