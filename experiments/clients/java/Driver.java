import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's Java client: jobs and records as ../driver/driver.go describes them. The argument is a name for it. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A job, as it comes. */
    public record Job(String op, String bootstrap, String topic, String codec, int partitions, int records, long start) {
        String key(int i) {
            return "k" + i;
        }

        String value(int i) {
            return i % 1000 == 999 ? null : i + ":" + "abcdefghij".repeat(i % 13);
        }
    }

    /** One partition in the order in which it is read, or acknowledged. */
    static final class Tally {
        int count;
        long first = -1;
        long last = -1;
        final CRC32 sum = new CRC32();
        long stamps;
        int gaps;

        void add(Job job, ConsumerRecord<String, String> r) {
            if (count > 0 && r.offset() != last + 1) {
                gaps++;
            }
            acked(r.offset());
            Header[] headers = r.headers().toArray();
            boolean named = headers.length == 1 && headers[0].key().equals("topic");
            String header = named ? new String(headers[0].value(), StandardCharsets.UTF_8) : r.headers().toString();
            String value = r.value() == null ? "~" : r.value();
            sum.update((r.key() + "=" + value + ";" + header + "\n").getBytes(StandardCharsets.UTF_8));
            stamps += r.timestamp() - job.start;
        }

        synchronized void acked(long offset) {
            first = first < 0 ? offset : Math.min(first, offset);
            last = Math.max(last, offset);
            count++;
        }

        Map<String, Object> result() {
            return Map.of("count", count, "first", first, "last", last, "sum", sum.getValue(), "stamps", stamps, "gaps", gaps);
        }
    }

    public static void main(String[] args) throws Exception {
        say(Map.of("client", args.length > 0 ? args[0] : "java", "version", version(), "codecs",
            List.of("none", "gzip", "snappy", "lz4", "zstd"), "idempotent", true, "reads", true, "stamps", true));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode j = JSON.readTree(line);
            Job job = JSON.treeToValue(j, Job.class);
            try {
                List<Tally> done = job.op.equals("produce") ? produce(job) : consume(job);
                say(Map.of("partitions", done.stream().map(Tally::result).toList()));
            } catch (Exception e) {
                say(Map.of("error", e.toString()));
            }
        }
    }

    private static String version() throws Exception {
        Properties p = new Properties();
        try (InputStream in = KafkaProducer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            p.load(in);
        }
        return p.getProperty("version");
    }

    private static void say(Map<String, Object> what) throws Exception {
        System.out.println(JSON.writeValueAsString(what));
    }

    private static List<Tally> tallies(Job job) {
        List<Tally> all = new ArrayList<>();
        for (int p = 0; p < job.partitions; p++) {
            all.add(new Tally());
        }
        return all;
    }

    private static List<Tally> produce(Job job) throws Exception {
        List<Tally> done = tallies(job);
        AtomicReference<Exception> failed = new AtomicReference<>();
        Map<String, Object> config = Map.of("bootstrap.servers", job.bootstrap, "acks", "all", "enable.idempotence", true,
            "linger.ms", 20, "batch.size", 256 << 10, "compression.type", job.codec);
        try (var p = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            for (int i = 0; i < job.records; i++) {
                Header header = new RecordHeader("topic", job.topic.getBytes(StandardCharsets.UTF_8));
                var r = new ProducerRecord<>(job.topic, i % job.partitions, job.start + i, job.key(i), job.value(i), List.of(header));
                p.send(r, (m, e) -> {
                    if (e != null) {
                        failed.set(e);
                    } else {
                        done.get(m.partition()).acked(m.offset());
                    }
                });
            }
            p.flush();
        }
        if (failed.get() != null) {
            throw failed.get();
        }
        return done;
    }

    private static List<Tally> consume(Job job) {
        List<Tally> done = tallies(job);
        List<TopicPartition> parts = new ArrayList<>();
        for (int p = 0; p < job.partitions; p++) {
            parts.add(new TopicPartition(job.topic, p));
        }
        Map<String, Object> config = Map.of("bootstrap.servers", job.bootstrap, "enable.auto.commit", false,
            "auto.offset.reset", "none", "max.poll.records", 5000);
        try (var c = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            Map<TopicPartition, Long> ends = c.endOffsets(parts);
            c.assign(parts);
            c.seekToBeginning(parts);
            while (parts.stream().anyMatch(p -> done.get(p.partition()).last < ends.get(p) - 1)) {
                ConsumerRecords<String, String> records = c.poll(Duration.ofSeconds(30));
                if (records.isEmpty()) {
                    throw new IllegalStateException("nothing comes for 30 s");
                }
                records.forEach(r -> done.get(r.partition()).add(job, r));
            }
        }
        return done;
    }
}
