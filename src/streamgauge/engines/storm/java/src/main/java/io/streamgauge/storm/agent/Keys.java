package io.streamgauge.storm.agent;

/** The key columns of a sample beside its subject; below zero or null where it has none. */
record Keys(String stream, String sourceComponent, int sourceTask) {
    static final Keys NONE = new Keys(null, null, -1);

    static Keys output(String stream) {
        return new Keys(stream, null, -1);
    }

    static Keys input(String source, String stream) {
        return new Keys(stream, source, -1);
    }

    static Keys origin(String source) {
        return new Keys(null, source, -1);
    }

    static Keys transfer(String source, int task, String stream) {
        return new Keys(stream, source, task);
    }
}
