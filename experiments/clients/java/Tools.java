import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs main of Kafka's command-line tools, one after another in one JVM. Each line of standard input names a tool, its
 * arguments and its standard input; each answer has exit code, output and complaints.
 */
public final class Tools {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int HANGS = -2;

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode job = JSON.readTree(line);
            List<String> argv = new ArrayList<>();
            job.get("args").forEach(a -> argv.add(a.asText()));
            answers.println(JSON.writeValueAsString(run(job.get("tool").asText(), argv, job.get("stdin").asText())));
            answers.flush();
        }
        Runtime.getRuntime().halt(0); // whatever threads the tools have left
    }

    private static Map<String, Object> run(String tool, List<String> argv, String stdin) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        CompletableFuture<Integer> code = new CompletableFuture<>();
        // Where a tool would end the process, its thread stops for good: nothing of it may run on and be caught.
        Exit.Procedure exit = (status, message) -> {
            code.complete(status);
            while (true) {
                LockSupport.park();
            }
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        List<Runnable> hooks = new CopyOnWriteArrayList<>();
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        System.setIn(new ByteArrayInputStream(stdin.getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        Thread t = new Thread(() -> {
            try {
                Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) argv.toArray(new String[0]));
                code.complete(0);
            } catch (InvocationTargetException e) {
                e.getCause().printStackTrace();
                code.complete(1);
            } catch (ReflectiveOperationException e) {
                code.completeExceptionally(e);
            }
        });
        t.setDaemon(true);
        t.start();
        int status = code.completeOnTimeout(HANGS, 60, TimeUnit.SECONDS).get();
        for (Runnable hook : hooks) { // a producer is closed in one
            Thread h = new Thread(hook);
            h.setDaemon(true);
            h.start();
            h.join(10_000);
        }
        return Map.of("code", status, "out", out.toString(StandardCharsets.UTF_8), "err", err.toString(StandardCharsets.UTF_8));
    }
}
