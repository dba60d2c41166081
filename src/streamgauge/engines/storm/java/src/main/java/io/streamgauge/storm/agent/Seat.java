package io.streamgauge.storm.agent;

/** Which worker this process is. */
record Seat(
    String topology, String topologyId, String node, int port, String machine, long startMillis) {

    String worker() {
        return node + ":" + port;
    }

    Subject subject() {
        return Subject.worker(worker(), node);
    }

    /** What names its files. */
    String family() {
        return Names.inFile(topology) + "-" + Names.inFile(node) + "-" + port;
    }
}
