package dev.steelyard.client;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import dev.steelyard.v1.ScoreRequest;
import dev.steelyard.v1.ScoreStreamRequest;
import dev.steelyard.v1.ScoreStreamResponse;
import dev.steelyard.v1.SteelyardServiceGrpc;
import dev.steelyard.v1.SteelyardServiceGrpc.SteelyardServiceBlockingV2Stub;
import dev.steelyard.v1.TaskColumns;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import java.util.stream.Stream;
import org.erdtman.jcs.JsonCanonicalizer;

/** Runs the wire vectors and the transport checks against a server. See ../README.md. */
public final class Client {
  private static final int MESSAGES = 100_000;
  /** So that what windows and buffers hold is far less than all messages. */
  private static final String PADDING = ".".repeat(256);

  private static final int CALLERS = 32;
  private static final int CALLS = 25;

  private interface Check {
    void run() throws Exception;
  }

  private final String restarted;
  private final Map<String, ?> config;
  private final Path root;
  private final ManagedChannel channel;
  private final SteelyardServiceBlockingV2Stub stub;
  private int passed;
  private int failed;

  private Client(String server, String restarted, Path config, Path vectors) throws IOException {
    this.restarted = restarted;
    this.config = serviceConfig(config);
    this.root = vectors;
    this.channel = channel(server).defaultServiceConfig(this.config).enableRetry().build();
    this.stub = SteelyardServiceGrpc.newBlockingV2Stub(channel);
  }

  /** Gson reads every number as a double, which is what gRPC wants. */
  private static Map<String, ?> serviceConfig(Path path) throws IOException {
    @SuppressWarnings("unchecked")
    Map<String, ?> config = new Gson().fromJson(Files.readString(path), Map.class);
    return config;
  }

  private static ManagedChannelBuilder<?> channel(String address) {
    return ManagedChannelBuilder.forTarget(address)
        .usePlaintext()
        .maxInboundMessageSize(64 << 20);
  }

  private void expect(String name, Object actual, Object expected) {
    if (expected.equals(actual)) {
      passed++;
    } else {
      failed++;
      System.out.println("FAIL " + name + ": " + actual + " is not " + expected);
    }
  }

  /** The cases whose status code is chosen: answered ones, or refused ones with their details. */
  private void cases(IntPredicate chosen) throws Exception {
    List<Path> paths;
    try (Stream<Path> found = Files.list(root.resolve("wire"))) {
      paths = found.filter(path -> path.toString().endsWith(".json")).sorted().toList();
    }
    for (Path path : paths) {
      JsonObject file = read(path);
      for (JsonElement element : file.getAsJsonArray("cases")) {
        JsonObject one = element.getAsJsonObject();
        if (chosen.test(one.getAsJsonObject("status").get("code").getAsInt())) {
          String name = path.getFileName() + "/" + one.get("name").getAsString();
          testCase(name, file, one);
        }
      }
    }
  }

  private static JsonObject read(Path path) throws IOException {
    return JsonParser.parseString(Files.readString(path)).getAsJsonObject();
  }

  private void testCase(String name, JsonObject file, JsonObject one) throws Exception {
    String path = file.get("method").getAsString();
    JsonObject shapes = file.getAsJsonObject("byShape");
    Wire.Method method = Wire.method(path);
    boolean fine = true;
    List<byte[]> sent = new ArrayList<>();
    for (JsonElement element : one.getAsJsonArray("requests")) {
      byte[] data = binary(element);
      JsonElement json = element.getAsJsonObject().get("json");
      if (json != null) {
        fine &= Wire.mapped(method.request(), data).equals(json);
        data = Wire.built(method.request(), json);
      }
      sent.add(data);
    }
    List<JsonElement> expected = new ArrayList<>();
    for (JsonElement element : one.getAsJsonArray("responses")) {
      JsonElement json = Wire.masked(element.getAsJsonObject().get("json"), shapes);
      fine &= Wire.masked(Wire.mapped(method.response(), binary(element)), shapes).equals(json);
      expected.add(json);
    }
    if (file.get("offline").getAsBoolean()) {
      expect(name, fine, true);
      return;
    }
    Wire.Answers answers = Wire.call(channel, path, sent, file.get("stream").getAsBoolean());
    List<JsonElement> actual = new ArrayList<>();
    for (byte[] data : answers.messages()) {
      actual.add(Wire.masked(Wire.mapped(method.response(), data), shapes));
    }
    expect(
        name, List.of(fine, actual, answers.status()), List.of(true, expected, one.get("status")));
  }

  private static byte[] binary(JsonElement message) {
    return Base64.getDecoder().decode(message.getAsJsonObject().get("binary").getAsString());
  }

  /** RFC 8785 and SHA-256 by this language's own libraries. */
  private void hashes() throws Exception {
    for (JsonElement element : read(root.resolve("hashes.json")).getAsJsonArray("cases")) {
      JsonObject one = element.getAsJsonObject();
      // The library takes objects and arrays only: wrap the value, unwrap its form.
      String wrapped = "[" + one.get("json").getAsString() + "]";
      String canonical = new JsonCanonicalizer(wrapped).getEncodedString();
      canonical = canonical.substring(1, canonical.length() - 1);
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(canonical.getBytes(StandardCharsets.UTF_8));
      expect(
          one.get("name").getAsString(),
          canonical + HexFormat.of().formatHex(digest),
          one.get("canonical").getAsString() + one.get("sha256").getAsString());
    }
  }

  /** One task of the built-in policy with one value for all scores; its overall is that value. */
  private static TaskColumns columns(int score, String... ids) {
    byte[] scores = new byte[3];
    Arrays.fill(scores, (byte) score);
    return TaskColumns.newBuilder()
        .setDeterministic(ByteString.copyFrom(scores))
        .setAi(ByteString.copyFrom(scores))
        .addAllTaskIds(List.of(ids))
        .build();
  }

  private static ScoreRequest request(TaskColumns columns) {
    return ScoreRequest.newBuilder().setColumns(columns).build();
  }

  private static ScoreStreamRequest message(TaskColumns columns) {
    return ScoreStreamRequest.newBuilder().setColumns(columns).build();
  }

  private static int score(SteelyardServiceBlockingV2Stub stub, TaskColumns columns)
      throws StatusException {
    SteelyardServiceBlockingV2Stub timed = stub.withDeadlineAfter(20, TimeUnit.SECONDS);
    return timed.score(request(columns)).getColumns().getOverallScores().byteAt(0);
  }

  private static Status.Code codeOf(Check call) throws Exception {
    try {
      call.run();
      return Status.Code.OK;
    } catch (StatusException error) {
      return error.getStatus().getCode();
    }
  }

  /** A stream that nobody ends is ended by its deadline. */
  private void deadline() throws Exception {
    long begin = System.nanoTime();
    BlockingClientCall<ScoreStreamRequest, ScoreStreamResponse> stream =
        stub.withDeadlineAfter(300, TimeUnit.MILLISECONDS).scoreStream();
    stream.write(message(columns(50)));
    Status.Code code =
        codeOf(
            () -> {
              while (stream.read() != null) {}
            });
    double seconds = (System.nanoTime() - begin) / 1e9;
    expect("code", code, Status.Code.DEADLINE_EXCEEDED);
    expect("in time", seconds > 0.25 && seconds < 5, true);
  }

  /** Without the retry policy a restart is an error, with it a pause. */
  private void restart() throws Exception {
    ManagedChannel plainChannel = channel(restarted).disableRetry().build();
    ManagedChannel patientChannel =
        channel(restarted).defaultServiceConfig(config).enableRetry().build();
    SteelyardServiceBlockingV2Stub plain = SteelyardServiceGrpc.newBlockingV2Stub(plainChannel);
    SteelyardServiceBlockingV2Stub patient = SteelyardServiceGrpc.newBlockingV2Stub(patientChannel);
    expect("before", score(plain, columns(50)), 50);
    expect("before", score(patient, columns(50)), 50);
    System.out.println("restart: stop");
    System.in.read();
    Status.Code code = codeOf(() -> score(plain, columns(50)));
    expect("without retries", code, Status.Code.UNAVAILABLE);
    System.out.println("restart: start");
    expect("with retries", score(patient, columns(50)), 50);
    plainChannel.shutdownNow();
    patientChannel.shutdownNow();
  }

  /** 100,000 messages; while nobody reads the answers, the sender has to wait. */
  private void stream() throws Exception {
    BlockingClientCall<ScoreStreamRequest, ScoreStreamResponse> stream =
        stub.withDeadlineAfter(120, TimeUnit.SECONDS).scoreStream();
    AtomicInteger sent = new AtomicInteger();
    Thread sender =
        new Thread(
            () -> {
              try {
                for (int index = 0; index < MESSAGES; index++) {
                  sent.incrementAndGet();
                  stream.write(message(columns(index % 101, index + PADDING)));
                }
                stream.halfClose();
              } catch (InterruptedException | StatusException ended) {
                // The reader meets the same end and tells of it.
              }
            });
    sender.start();
    int right = 0;
    ScoreStreamResponse answer = stream.read();
    for (int index = 0; answer != null; index++) {
      if (index == 0) {
        Thread.sleep(1000);
        expect("flow control", sent.get() < MESSAGES / 2, true);
      }
      boolean same = answer.getColumns().getTaskIds(0).equals(index + PADDING);
      if (same && answer.getColumns().getOverallScores().byteAt(0) == index % 101) {
        right++;
      }
      answer = stream.read();
    }
    sender.join();
    expect("answers in order", right, MESSAGES);
  }

  /** A message over the limit is refused; the connection lives on. */
  private void limit() throws Exception {
    TaskColumns large =
        TaskColumns.newBuilder().setDeterministic(ByteString.copyFrom(new byte[5 << 20])).build();
    expect("code", codeOf(() -> score(stub, large)), Status.Code.RESOURCE_EXHAUSTED);
    expect("after it", score(stub, columns(50)), 50);
  }

  /** 32 threads, each with calls of its own. */
  private void concurrent() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(CALLERS);
    List<Future<Integer>> all = new ArrayList<>();
    for (int caller = 0; caller < CALLERS; caller++) {
      int number = caller;
      all.add(
          pool.submit(
              () -> {
                int right = 0;
                for (int call = 0; call < CALLS; call++) {
                  int value = (number + call) % 101;
                  if (score(stub, columns(value, number + "/" + call)) == value) {
                    right++;
                  }
                }
                return right;
              }));
    }
    for (Future<Integer> right : all) {
      expect("caller", right.get(), CALLS);
    }
    pool.shutdown();
  }

  private Map<String, Check> checks() {
    Map<String, Check> all = new LinkedHashMap<>();
    all.put("vectors", () -> cases(code -> code == 0));
    all.put("errors", () -> cases(code -> code != 0));
    all.put("hashes", this::hashes);
    all.put("deadline", this::deadline);
    all.put("restart", this::restart);
    all.put("stream", this::stream);
    all.put("limit", this::limit);
    all.put("concurrent", this::concurrent);
    return all;
  }

  /** Runs the checks named after the four places, by default all. */
  public static void main(String[] args) throws IOException {
    Client client = new Client(args[0], args[1], Path.of(args[2]), Path.of(args[3]));
    Map<String, Check> checks = client.checks();
    List<String> names = Arrays.asList(args).subList(4, args.length);
    int passed = 0;
    int failed = 0;
    for (String name : names.isEmpty() ? List.copyOf(checks.keySet()) : names) {
      client.passed = client.failed = 0;
      long begin = System.nanoTime();
      try {
        checks.get(name).run();
      } catch (Exception error) { // a check that breaks has failed; the others still run
        client.expect(name, error, "no error");
      }
      double seconds = (System.nanoTime() - begin) / 1e9;
      System.out.printf(
          "%s passed %d failed %d seconds %.1f%n", name, client.passed, client.failed, seconds);
      passed += client.passed;
      failed += client.failed;
    }
    System.out.printf("passed %d failed %d%n", passed, failed);
    System.exit(failed > 0 || passed == 0 ? 1 : 0);
  }
}
