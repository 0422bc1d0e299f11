package dev.steelyard.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** Calls by method name, and messages as their JSON mapping. */
final class Wire {
  /** The request and response of a method; none where the service has no such method. */
  record Method(Message request, Message response) {}

  /** What a call of bytes brought and how it ended, in the form of the vectors. */
  record Answers(List<byte[]> messages, JsonObject status) {}

  /** A marshaller that leaves bytes alone. */
  private static final MethodDescriptor.Marshaller<byte[]> BYTES =
      new MethodDescriptor.Marshaller<>() {
        @Override
        public InputStream stream(byte[] value) {
          return new ByteArrayInputStream(value);
        }

        @Override
        public byte[] parse(InputStream stream) {
          try {
            return stream.readAllBytes();
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        }
      };

  private Wire() {}

  /** The messages of a method such as "/steelyard.v1.SteelyardService/Score". */
  static Method method(String path) throws ReflectiveOperationException {
    String service = path.substring(path.lastIndexOf('.') + 1, path.lastIndexOf('/'));
    ServiceDescriptor known =
        (ServiceDescriptor)
            Class.forName("dev.steelyard.v1." + service + "Grpc")
                .getMethod("getServiceDescriptor")
                .invoke(null);
    for (MethodDescriptor<?, ?> method : known.getMethods()) {
      if (path.equals("/" + method.getFullMethodName())) {
        return new Method(
            prototype(method.getRequestMarshaller()), prototype(method.getResponseMarshaller()));
      }
    }
    return new Method(null, null);
  }

  private static Message prototype(MethodDescriptor.Marshaller<?> marshaller) {
    return (Message) ((PrototypeMarshaller<?>) marshaller).getMessagePrototype();
  }

  /** The JSON mapping of a message's bytes. */
  static JsonElement mapped(Message kind, byte[] data) throws InvalidProtocolBufferException {
    Message message = kind.newBuilderForType().mergeFrom(data).build();
    return JsonParser.parseString(JsonFormat.printer().print(message));
  }

  /** The bytes of a message from its JSON mapping. */
  static byte[] built(Message kind, JsonElement json) throws InvalidProtocolBufferException {
    Message.Builder message = kind.newBuilderForType();
    JsonFormat.parser().merge(json.toString(), message);
    return message.build().toByteArray();
  }

  /** The document with what matches its shape replaced in every field that has one. */
  static JsonElement masked(JsonElement document, JsonObject shapes) {
    JsonElement copy = document.deepCopy();
    for (Map.Entry<String, JsonElement> shape : shapes.entrySet()) {
      mask(copy, shape.getKey(), Pattern.compile(shape.getValue().getAsString()));
    }
    return copy;
  }

  private static void mask(JsonElement node, String path, Pattern shape) {
    String[] parts = path.split("[.]", 2);
    if (node instanceof JsonArray list) {
      list.forEach(item -> mask(item, parts[1], shape));
    } else if (node instanceof JsonObject object && object.has(parts[0])) {
      if (parts.length > 1) {
        mask(object.get(parts[0]), parts[1], shape);
      } else {
        String text = shape.matcher(object.get(parts[0]).getAsString()).replaceAll("~");
        object.add(parts[0], new JsonPrimitive(text));
      }
    }
  }

  /** A call of bytes: unary, or a stream in both directions. */
  static Answers call(Channel channel, String path, List<byte[]> sent, boolean stream)
      throws InterruptedException {
    MethodDescriptor<byte[], byte[]> method =
        MethodDescriptor.newBuilder(BYTES, BYTES)
            .setFullMethodName(path.substring(1))
            .setType(stream ? MethodType.BIDI_STREAMING : MethodType.UNARY)
            .build();
    CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(20, TimeUnit.SECONDS);
    List<byte[]> answers = new ArrayList<>();
    try {
      if (stream) {
        CompletableFuture<Void> end = new CompletableFuture<>();
        StreamObserver<byte[]> open =
            ClientCalls.asyncBidiStreamingCall(
                channel.newCall(method, options), collecting(answers, end));
        // A blocking call would not do: its writes wait for ever once the server has ended the
        // stream while answers are unread.
        sent.forEach(open::onNext);
        open.onCompleted();
        end.get();
      } else {
        answers.add(ClientCalls.blockingUnaryCall(channel, method, options, sent.get(0)));
      }
    } catch (StatusRuntimeException error) {
      return new Answers(answers, statusOf(error));
    } catch (ExecutionException error) {
      return new Answers(answers, statusOf(error.getCause()));
    }
    JsonObject fine = new JsonObject();
    fine.addProperty("code", 0);
    fine.addProperty("name", "OK");
    return new Answers(answers, fine);
  }

  private static StreamObserver<byte[]> collecting(
      List<byte[]> answers, CompletableFuture<Void> end) {
    return new StreamObserver<>() {
      @Override
      public void onNext(byte[] answer) {
        answers.add(answer);
      }

      @Override
      public void onError(Throwable error) {
        end.completeExceptionally(error);
      }

      @Override
      public void onCompleted() {
        end.complete(null);
      }
    };
  }

  /** An error in the form of the vectors, its details decoded. */
  private static JsonObject statusOf(Throwable error) {
    Status.Code code = Status.fromThrowable(error).getCode();
    JsonObject status = new JsonObject();
    status.addProperty("code", code.value());
    status.addProperty("name", code.name());
    try {
      for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          status.addProperty("reason", info.getReason());
          status.addProperty("domain", info.getDomain());
        } else if (detail.is(BadRequest.class)) {
          JsonArray violations = new JsonArray();
          detail.unpack(BadRequest.class).getFieldViolationsList().stream()
              .map(Wire::violation)
              .forEach(violations::add);
          status.add("violations", violations);
        }
      }
    } catch (InvalidProtocolBufferException unreadable) {
      status.addProperty("details", unreadable.getMessage());
    }
    return status;
  }

  private static JsonObject violation(BadRequest.FieldViolation entry) {
    JsonObject violation = new JsonObject();
    violation.addProperty("field", entry.getField());
    violation.addProperty("reason", entry.getReason());
    return violation;
  }
}
