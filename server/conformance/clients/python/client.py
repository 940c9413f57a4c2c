"""Uses a server through google-cloud-pubsub. PUBSUB_EMULATOR_HOST says where it is."""

import threading

from google.api_core import exceptions
from google.cloud import pubsub_v1

COUNT = 200
PROJECT = "projects/python"

publisher = pubsub_v1.PublisherClient()
subscriber = pubsub_v1.SubscriberClient()


def refused(kind, call, *args, **kwargs):
    """Makes a call that must fail in a way."""
    try:
        call(*args, **kwargs)
    except kind:
        return
    raise AssertionError(f"{call} did not raise {kind}")


def in_order():
    """Sends messages with ordering keys, which come in the order in which they were sent."""
    topic, ledger = f"{PROJECT}/topics/steps", f"{PROJECT}/subscriptions/ledger"
    publisher.create_topic(name=topic)
    subscriber.create_subscription(request={"name": ledger, "topic": topic, "enable_message_ordering": True})
    ordering = pubsub_v1.PublisherClient(publisher_options=pubsub_v1.types.PublisherOptions(enable_message_ordering=True))
    for i in range(20):
        for key in "abc":
            ordering.publish(topic, str(i).encode(), ordering_key=key)
    came, done = {"a": [], "b": [], "c": []}, threading.Event()

    def receive(message):
        came[message.ordering_key].append(int(message.data))
        message.ack()
        if all(len(numbers) == 20 for numbers in came.values()):
            done.set()

    receiving = subscriber.subscribe(ledger, callback=receive)
    assert done.wait(60), came
    receiving.cancel()
    receiving.result(timeout=60)
    assert all(numbers == list(range(20)) for numbers in came.values()), came
    ordering.stop()


def main():
    topic, dead = f"{PROJECT}/topics/orders", f"{PROJECT}/topics/orders-dead"
    billing, letters = f"{PROJECT}/subscriptions/billing", f"{PROJECT}/subscriptions/letters"
    publisher.create_topic(name=topic)
    publisher.create_topic(name=dead)
    subscriber.create_subscription(name=letters, topic=dead)
    created = subscriber.create_subscription(request={
        "name": billing, "topic": topic, "ack_deadline_seconds": 20,
        "dead_letter_policy": {"dead_letter_topic": dead, "max_delivery_attempts": 5},
    })
    assert created.ack_deadline_seconds == 20, created
    updated = subscriber.update_subscription(request={
        "subscription": {"name": billing, "ack_deadline_seconds": 30}, "update_mask": {"paths": ["ack_deadline_seconds"]},
    })
    assert updated.ack_deadline_seconds == 30, updated
    refused(exceptions.AlreadyExists, publisher.create_topic, name=topic)
    refused(exceptions.NotFound, publisher.publish(f"{PROJECT}/topics/missing", b"x").result, timeout=60)

    for future in [publisher.publish(topic, str(i).encode(), n=str(i)) for i in range(COUNT)]:
        future.result(timeout=60)

    # Every tenth message is refused twice, and one for good.
    lock, done, failures = threading.Lock(), threading.Event(), []
    acked, attempts = set(), []

    def receive(message):
        text = message.data.decode()
        with lock:
            if message.attributes["n"] != text:
                failures.append(f"{text} has the attributes {message.attributes}")
            if text == "13":
                attempts.append(message.delivery_attempt)
                message.nack()
            elif int(text) % 10 == 0 and message.delivery_attempt < 3:
                message.nack()
            else:
                if text in acked:
                    failures.append(f"{text} came again")
                acked.add(text)
                message.ack()
            if len(acked) == COUNT - 1 and len(attempts) == 5:
                done.set()

    flow = pubsub_v1.types.FlowControl(max_messages=50)
    receiving = subscriber.subscribe(billing, callback=receive, flow_control=flow)
    letter = threading.Event()

    def bury(message):
        if message.data != b"13" or message.attributes["CloudPubSubDeadLetterSourceDeliveryCount"] != "5":
            failures.append(f"dead letter {message}")
        message.ack()
        letter.set()

    burying = subscriber.subscribe(letters, callback=bury)
    assert done.wait(120), f"{len(acked)} acked, attempts {attempts}"
    assert letter.wait(60), "no dead letter"
    for future in (receiving, burying):
        future.cancel()
        future.result(timeout=60)
    assert attempts == [1, 2, 3, 4, 5], attempts
    assert not failures, failures

    in_order()

    publisher.publish(topic, b"pulled").result(timeout=60)
    pulled = subscriber.pull(subscription=billing, max_messages=10).received_messages
    assert [m.message.data for m in pulled] == [b"pulled"], pulled
    subscriber.acknowledge(subscription=billing, ack_ids=[m.ack_id for m in pulled])
    subscriber.delete_subscription(subscription=billing)
    refused(exceptions.NotFound, subscriber.get_subscription, subscription=billing)
    publisher.stop()
    subscriber.close()


main()
print("ok")
