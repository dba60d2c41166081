package io.streamgauge.storm.bridge;

import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import org.apache.storm.generated.StormTopology;

/** Topologies that are described by a text, made by the class that knows such texts. */
final class Programs {
    private static final String MAKER = "io.streamgauge.storm.topology.ProgramTopology";

    private Programs() {
    }

    static StormTopology topology(String program) throws Failure {
        return (StormTopology) call("build", program);
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> configuration(String program) throws Failure {
        return (Map<String, Object>) call("configuration", program);
    }

    private static Object call(String method, String program) throws Failure {
        try {
            return Class.forName(MAKER).getMethod(method, String.class).invoke(null, program);
        } catch (InvocationTargetException error) {
            throw new Failure(Failure.Kind.REFUSED, String.valueOf(error.getCause()));
        } catch (ReflectiveOperationException error) {
            throw new Failure(Failure.Kind.INTERNAL, String.valueOf(error));
        }
    }
}
