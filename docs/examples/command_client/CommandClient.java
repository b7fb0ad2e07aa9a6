import static java.nio.charset.StandardCharsets.UTF_8;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.*;
/** Begin a dialog, send, end, and end again, which is refused: CommandClient BOOTSTRAP PREFIX. */
public class CommandClient extends ByteArrayOutputStream {
  static final byte[] COMMAND = HexFormat.of().parseHex("c30189bd0f4991c8c895");
  void number(long n) { // Avro's int, long, enum and union branch: zigzag, seven bits at a time
    for (n = n << 1 ^ n >> 63; (n & ~127L) != 0; n >>>= 7) write((int) (n & 127 | 128));
    write((int) n);
  }
  void text(String s) { number(s.getBytes(UTF_8).length); writeBytes(s.getBytes(UTF_8)); }
  static byte[] command(UUID id, int kind, String... optional) {
    CommandClient out = new CommandClient();
    long high = id.getMostSignificantBits(), low = id.getLeastSignificantBits();
    out.writeBytes(ByteBuffer.allocate(26).put(COMMAND).putLong(high).putLong(low).array());
    out.number(kind);
    out.text("DatabaseA");
    out.write(1); // from_initiator
    out.number(System.currentTimeMillis());
    for (String s : optional) { out.number(1); out.text(s); } // reply_to, from_service, to_service
    for (int rest = optional.length; rest < 14; rest++) out.write(0); // null, [] and false
    return out.toByteArray();
  }
  static long number(ByteBuffer in) {
    long n = 0, b = 128;
    for (int at = 0; (b & 128) != 0; at += 7) n |= ((b = in.get()) & 127) << at;
    return n >>> 1 ^ -(n & 1);
  }
  public static void main(String[] args) throws Exception {
    Map<String, Object> kafka = Map.of("bootstrap.servers", args[0]);
    String conversation = UUID.randomUUID().toString(), me = "java/" + UUID.randomUUID();
    var results = List.of(new TopicPartition(args[1] + "result.ServerA", 0));
    try (var producer = new KafkaProducer<>(kafka, new StringSerializer(), new ByteArraySerializer());
        var consumer = new KafkaConsumer<>(kafka, new StringDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(results);
      consumer.seekToEnd(results);
      consumer.position(results.get(0)); // now, before any command is sent
      String[][] said = {{me, "InitiatorService", "TargetService"}, {me}, {me}, {me}};
      for (int n = 0, kind = 0; n < said.length; n++, kind = Math.min(n, 2)) { // BEGIN, SEND, END, END
        UUID id = UUID.randomUUID();
        byte[] body = kind == 1 ? "hello from Java".getBytes(UTF_8) : null;
        var record = new ProducerRecord<>(args[1] + "cmd.ServerA", conversation, body);
        record.headers().add("sb-command", command(id, kind, said[n]));
        producer.send(record).get();
        for (long number = -1; number < 0; ) for (var answer : consumer.poll(Duration.ofSeconds(1))) {
          ByteBuffer in = ByteBuffer.wrap(answer.value()).position(10); // after the schema's prefix
          if (!me.equals(answer.key()) || !new UUID(in.getLong(), in.getLong()).equals(id)) continue;
          in.get(new byte[(int) number(in)]); // the conversation
          System.out.println(kind + " " + conversation + " " + (number = number(in)));
        }
      }
    }
  }
}
