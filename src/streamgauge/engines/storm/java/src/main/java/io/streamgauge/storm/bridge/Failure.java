package io.streamgauge.storm.bridge;

/** A request that could not be met, and of which kind the trouble is. */
final class Failure extends Exception {
    private static final long serialVersionUID = 1L;

    /** What went wrong, in the words that whoever asks acts upon. */
    enum Kind {
        UNREACHABLE("unreachable"),
        UNKNOWN_TOPOLOGY("unknown-topology"),
        REFUSED("refused"),
        INTERNAL("internal");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        String word() {
            return word;
        }
    }

    private final Kind kind;

    Failure(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    Kind kind() {
        return kind;
    }
}
