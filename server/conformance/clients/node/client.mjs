// Uses a server through @google-cloud/pubsub. PUBSUB_EMULATOR_HOST says where it is.
import assert from 'node:assert/strict';
import {setTimeout as after} from 'node:timers/promises';
import {PubSub} from '@google-cloud/pubsub';

const count = 200;
const pubsub = new PubSub({projectId: 'node'});

// receive listens to a subscription until handle says that it is done.
function receive(subscription, handle) {
  return new Promise((resolve, reject) => {
    subscription.on('error', reject);
    subscription.on('message', message => {
      try {
        if (handle(message)) resolve();
      } catch (error) {
        reject(error);
      }
    });
  }).finally(() => subscription.close());
}

async function main() {
  const [topic] = await pubsub.createTopic('orders');
  const [dead] = await pubsub.createTopic('orders-dead');
  const [letters] = await dead.createSubscription('letters');
  const [billing] = await topic.createSubscription('billing', {
    ackDeadlineSeconds: 20,
    deadLetterPolicy: {deadLetterTopic: dead.name, maxDeliveryAttempts: 5},
    flowControl: {maxMessages: 50},
  });
  const [metadata] = await billing.getMetadata();
  assert.equal(metadata.ackDeadlineSeconds, 20);
  assert.equal(metadata.topic, topic.name);
  await billing.setMetadata({ackDeadlineSeconds: 30});
  assert.equal((await billing.getMetadata())[0].ackDeadlineSeconds, 30);
  await assert.rejects(pubsub.createTopic('orders'), {code: 6});
  await assert.rejects(pubsub.topic('missing').publishMessage({data: Buffer.from('x')}), {code: 5});

  await Promise.all(Array.from({length: count}, (_, i) =>
    topic.publishMessage({data: Buffer.from(`${i}`), attributes: {n: `${i}`}})));

  // Every tenth message is refused twice, and one for good.
  const acked = new Set();
  let refused = 0;
  const received = receive(billing, message => {
    const text = message.data.toString();
    assert.equal(message.attributes.n, text);
    if (text === '13') {
      refused++;
      message.nack();
    } else if (Number(text) % 10 === 0 && message.deliveryAttempt < 3) {
      message.nack();
    } else {
      assert(!acked.has(text), `${text} came again`);
      acked.add(text);
      message.ack();
    }
    return acked.size === count - 1 && refused === 5;
  });
  const letter = receive(letters, message => {
    assert.equal(message.data.toString(), '13');
    assert.equal(message.attributes.CloudPubSubDeadLetterSourceDeliveryCount, '5');
    message.ack();
    return true;
  });
  await Promise.all([received, letter]);

  await inOrder();

  await billing.delete();
  await assert.rejects(billing.getMetadata(), {code: 5});
  await pubsub.close();
}

// inOrder sends messages with ordering keys, which come in the order in which they were sent.
async function inOrder() {
  const [topic] = await pubsub.createTopic('steps', {});
  const [ledger] = await topic.createSubscription('ledger', {enableMessageOrdering: true});
  const publisher = pubsub.topic('steps', {messageOrdering: true});
  for (let i = 0; i < 20; i++) {
    for (const orderingKey of ['a', 'b', 'c']) {
      publisher.publishMessage({data: Buffer.from(`${i}`), orderingKey});
    }
  }
  const came = {a: [], b: [], c: []};
  await receive(ledger, message => {
    came[message.orderingKey].push(Number(message.data));
    message.ack();
    return Object.values(came).every(list => list.length === 20);
  });
  for (const list of Object.values(came)) assert.deepEqual(list, [...Array(20).keys()]);
}

await Promise.race([main(), after(120_000, undefined, {ref: false}).then(() => assert.fail('it takes too long'))]);
console.log('ok');
