// Java 17 or later: SVC_WEBHOOK_HMAC_KEY=… PORT=3000 java Receiver.java
import static java.nio.file.StandardOpenOption.*;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
  public static void main(String[] args) throws Exception {
    byte[] key = Base64.getDecoder().decode(System.getenv("SVC_WEBHOOK_HMAC_KEY"));
    Set<String> seen = new HashSet<>();
    var address = new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT")));
    var server = HttpServer.create(address, 128);
    server.setExecutor(Executors.newFixedThreadPool(16));
    server.createContext("/hooks", exchange -> {
      try (exchange) {
        byte[] body = exchange.getRequestBody().readAllBytes();
        String given = exchange.getRequestHeaders().getFirst("X-SVC-WEBHOOK-CONTENT-HASH");
        Mac mac = Mac.getInstance("HmacSHA512");
        mac.init(new SecretKeySpec(key, "HmacSHA512"));
        String expected = HexFormat.of().formatHex(mac.doFinal(body));
        boolean isGenuine = given != null && MessageDigest.isEqual(expected.getBytes("UTF-8"), given.getBytes("UTF-8"));
        byte[] line = (new String(body, "UTF-8").replace("\n", " ") + "\n").getBytes("UTF-8");
        if (isGenuine) synchronized (seen) {
          // Store first, then respond, and do the work afterwards. A real receiver stores the ID, too.
          if (!seen.contains(expected)) Files.write(Path.of("events.jsonl"), line, CREATE, APPEND);
          seen.add(expected);
        }
        exchange.sendResponseHeaders(isGenuine ? 204 : 401, -1);
      } catch (java.security.GeneralSecurityException error) {
        throw new IllegalStateException(error);
      }
    });
    server.start();
  }
}
