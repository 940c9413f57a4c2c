import com.google.api.core.ApiFuture;
import com.google.api.core.ApiFutures;
import com.google.api.gax.batching.FlowControlSettings;
import com.google.api.gax.core.NoCredentialsProvider;
import com.google.api.gax.grpc.GrpcTransportChannel;
import com.google.api.gax.rpc.AlreadyExistsException;
import com.google.api.gax.rpc.FixedTransportChannelProvider;
import com.google.api.gax.rpc.NotFoundException;
import com.google.api.gax.rpc.TransportChannelProvider;
import com.google.cloud.pubsub.v1.MessageReceiver;
import com.google.cloud.pubsub.v1.Publisher;
import com.google.cloud.pubsub.v1.Subscriber;
import com.google.cloud.pubsub.v1.SubscriptionAdminClient;
import com.google.cloud.pubsub.v1.SubscriptionAdminSettings;
import com.google.cloud.pubsub.v1.TopicAdminClient;
import com.google.cloud.pubsub.v1.TopicAdminSettings;
import com.google.protobuf.ByteString;
import com.google.protobuf.FieldMask;
import com.google.pubsub.v1.DeadLetterPolicy;
import com.google.pubsub.v1.PubsubMessage;
import com.google.pubsub.v1.Subscription;
import com.google.pubsub.v1.UpdateSubscriptionRequest;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/** Uses a server through google-cloud-pubsub. PUBSUB_EMULATOR_HOST says where it is. */
public final class ClientTest {
  private static final int COUNT = 200;
  private static final String TOPIC = "projects/java/topics/orders";
  private static final String DEAD = "projects/java/topics/orders-dead";
  private static final String BILLING = "projects/java/subscriptions/billing";
  private static final String STEPS = "projects/java/topics/steps";
  private static final String LEDGER = "projects/java/subscriptions/ledger";
  private static final String LETTERS = "projects/java/subscriptions/letters";

  private final TransportChannelProvider channels;
  private final Queue<String> failures = new ConcurrentLinkedQueue<>();

  private ClientTest(ManagedChannel channel) {
    channels = FixedTransportChannelProvider.create(GrpcTransportChannel.create(channel));
  }

  public static void main(String[] args) throws Exception {
    ManagedChannel channel = ManagedChannelBuilder.forTarget(System.getenv("PUBSUB_EMULATOR_HOST")).usePlaintext().build();
    try {
      new ClientTest(channel).run();
    } finally {
      channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
    }
    System.out.println("ok");
  }

  private void run() throws Exception {
    TopicAdminSettings topicSettings =
        TopicAdminSettings.newBuilder().setTransportChannelProvider(channels).setCredentialsProvider(NoCredentialsProvider.create()).build();
    SubscriptionAdminSettings subscriptionSettings =
        SubscriptionAdminSettings.newBuilder().setTransportChannelProvider(channels).setCredentialsProvider(NoCredentialsProvider.create()).build();
    try (TopicAdminClient topics = TopicAdminClient.create(topicSettings);
        SubscriptionAdminClient subscriptions = SubscriptionAdminClient.create(subscriptionSettings)) {
      administer(topics, subscriptions);
      publish();
      subscribe();
      inOrder(topics, subscriptions);
      subscriptions.deleteSubscription(BILLING);
      refused(NotFoundException.class, () -> subscriptions.getSubscription(BILLING));
    }
    check(failures.isEmpty(), failures.toString());
  }

  private void administer(TopicAdminClient topics, SubscriptionAdminClient subscriptions) {
    topics.createTopic(TOPIC);
    topics.createTopic(DEAD);
    subscriptions.createSubscription(Subscription.newBuilder().setName(LETTERS).setTopic(DEAD).build());
    Subscription created =
        subscriptions.createSubscription(
            Subscription.newBuilder()
                .setName(BILLING)
                .setTopic(TOPIC)
                .setAckDeadlineSeconds(20)
                .setDeadLetterPolicy(DeadLetterPolicy.newBuilder().setDeadLetterTopic(DEAD).setMaxDeliveryAttempts(5))
                .build());
    check(created.getAckDeadlineSeconds() == 20, created.toString());
    Subscription updated =
        subscriptions.updateSubscription(
            UpdateSubscriptionRequest.newBuilder()
                .setSubscription(Subscription.newBuilder().setName(BILLING).setAckDeadlineSeconds(30))
                .setUpdateMask(FieldMask.newBuilder().addPaths("ack_deadline_seconds"))
                .build());
    check(updated.getAckDeadlineSeconds() == 30, updated.toString());
    refused(AlreadyExistsException.class, () -> topics.createTopic(TOPIC));
    refused(NotFoundException.class, () -> topics.getTopic("projects/java/topics/missing"));
  }

  private void publish() throws Exception {
    Publisher publisher = Publisher.newBuilder(TOPIC).setChannelProvider(channels).setCredentialsProvider(NoCredentialsProvider.create()).build();
    List<ApiFuture<String>> results = new ArrayList<>();
    for (int i = 0; i < COUNT; i++) {
      String text = Integer.toString(i);
      results.add(publisher.publish(PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(text)).putAttributes("n", text).build()));
    }
    ApiFutures.allAsList(results).get(60, TimeUnit.SECONDS);
    publisher.shutdown();
    check(publisher.awaitTermination(60, TimeUnit.SECONDS), "the publisher does not stop");
  }

  /** Every tenth message is refused twice, and one for good. */
  private void subscribe() throws Exception {
    Set<String> acked = ConcurrentHashMap.newKeySet();
    AtomicInteger refused = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(COUNT - 1 + 5 + 1);
    Subscriber billing =
        subscriber(
            BILLING,
            (message, consumer) -> {
              String text = message.getData().toStringUtf8();
              int attempt = Subscriber.getDeliveryAttempt(message);
              if (!message.getAttributesOrThrow("n").equals(text)) {
                failures.add(text + " has the attributes of " + message.getAttributesOrThrow("n"));
              }
              if (text.equals("13")) {
                if (attempt != refused.incrementAndGet()) {
                  failures.add("attempt " + attempt + " at 13");
                }
                done.countDown();
                consumer.nack();
              } else if (Integer.parseInt(text) % 10 == 0 && attempt < 3) {
                consumer.nack();
              } else {
                if (!acked.add(text)) {
                  failures.add(text + " came again");
                }
                done.countDown();
                consumer.ack();
              }
            });
    Subscriber letters =
        subscriber(
            LETTERS,
            (message, consumer) -> {
              if (!message.getData().toStringUtf8().equals("13")
                  || !message.getAttributesOrThrow("CloudPubSubDeadLetterSourceDeliveryCount").equals("5")) {
                failures.add("dead letter " + message);
              }
              done.countDown();
              consumer.ack();
            });
    check(done.await(120, TimeUnit.SECONDS), acked.size() + " acked, " + refused + " times refused, failures " + failures);
    for (Subscriber s : List.of(billing, letters)) {
      s.stopAsync().awaitTerminated(60, TimeUnit.SECONDS);
    }
  }

  /** Sends messages with ordering keys, which come in the order in which they were sent. */
  private void inOrder(TopicAdminClient topics, SubscriptionAdminClient subscriptions) throws Exception {
    topics.createTopic(STEPS);
    subscriptions.createSubscription(
        Subscription.newBuilder().setName(LEDGER).setTopic(STEPS).setEnableMessageOrdering(true).build());
    Publisher publisher =
        Publisher.newBuilder(STEPS)
            .setChannelProvider(channels)
            .setCredentialsProvider(NoCredentialsProvider.create())
            .setEnableMessageOrdering(true)
            .build();
    for (int i = 0; i < 20; i++) {
      for (String key : List.of("a", "b", "c")) {
        publisher.publish(
            PubsubMessage.newBuilder().setData(ByteString.copyFromUtf8(Integer.toString(i))).setOrderingKey(key).build());
      }
    }
    Map<String, Queue<Integer>> came = new ConcurrentHashMap<>();
    CountDownLatch done = new CountDownLatch(60);
    Subscriber ledger =
        subscriber(
            LEDGER,
            (message, consumer) -> {
              came.computeIfAbsent(message.getOrderingKey(), key -> new ConcurrentLinkedQueue<>())
                  .add(Integer.valueOf(message.getData().toStringUtf8()));
              consumer.ack();
              done.countDown();
            });
    check(done.await(60, TimeUnit.SECONDS), came.toString());
    ledger.stopAsync().awaitTerminated(60, TimeUnit.SECONDS);
    publisher.shutdown();
    check(publisher.awaitTermination(60, TimeUnit.SECONDS), "the publisher does not stop");
    for (Queue<Integer> numbers : came.values()) {
      check(List.copyOf(numbers).equals(IntStream.range(0, 20).boxed().toList()), came.toString());
    }
  }

  private Subscriber subscriber(String name, MessageReceiver receiver) {
    Subscriber s =
        Subscriber.newBuilder(name, receiver)
            .setChannelProvider(channels)
            .setCredentialsProvider(NoCredentialsProvider.create())
            .setFlowControlSettings(FlowControlSettings.newBuilder().setMaxOutstandingElementCount(50L).build())
            .build();
    s.startAsync().awaitRunning();
    return s;
  }

  private static void refused(Class<? extends Exception> kind, Runnable call) {
    try {
      call.run();
    } catch (RuntimeException e) {
      check(kind.isInstance(e), e.toString());
      return;
    }
    check(false, "not refused");
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }
}
