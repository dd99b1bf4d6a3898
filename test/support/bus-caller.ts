import { createHash } from 'node:crypto';
import { type ConsumerInfo, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { InputName } from '#messaging/topology';
import { waitUntil } from '../../tools/up/infra/chain.ts';

export interface BusPlace {
  readonly url: string;
  /** First token of every subject. */
  readonly prefix: string;
}

/** A publisher on the input queue, who hears every answer that is given while it listens (fallback 1.5). */
export interface BusCaller {
  readonly manager: JetStreamManager;
  /** Publishes an input; answers its sequence in the queue. */
  publish(
    input: InputName,
    body: object | Uint8Array,
    messageId?: string,
    moreHeaders?: Readonly<Record<string, string>>,
  ): Promise<number>;
  /** The texts of the answers to a message so far, by its id or by `seq-<sequence>`. */
  answersTo(name: string): readonly string[];
  /** Waits until at least so many answers to a message have come. */
  answered(name: string, atLeast?: number): Promise<readonly string[]>;
  /** Messages of the queue that nobody has settled yet. */
  waiting(): Promise<number>;
  inputConsumer(input: InputName): Promise<ConsumerInfo>;
  readonly inputStream: string;
  close(): Promise<void>;
}

const ANSWER_BOUND_MS = 60_000;
const DURABLES: Readonly<Record<InputName, string>> = {
  attempt: 'ingest-attempt',
  launch: 'ingest-launch',
  observation: 'ingest-observation',
  consent: 'consent-consent',
};

export async function busCaller({ url, prefix }: BusPlace): Promise<BusCaller> {
  const connection = await connectTo(url);
  const manager = await jetstreamManager(connection);
  const publisher = jetstream(connection);
  const heard = new Map<string, string[]>();
  const out = connection.subscribe(`${prefix}.out.>`, {
    callback: (_error, message) => {
      const texts = heard.get(message.subject) ?? [];
      texts.push(message.string());
      heard.set(message.subject, texts);
    },
  });
  const inputStream = `${prefix.toUpperCase()}_IN`;
  const answersTo = (name: string) => heard.get(`${prefix}.out.local.${hashed(name)}`) ?? [];
  return {
    manager,
    inputStream,
    publish: async (input, body, messageId, moreHeaders = {}) => {
      const sent = headers();
      if (messageId !== undefined) sent.set('Spillway-Message-Id', messageId);
      for (const [name, value] of Object.entries(moreHeaders)) sent.set(name, value);
      const payload = body instanceof Uint8Array ? body : JSON.stringify(body);
      return (await publisher.publish(`${prefix}.in.${input}`, payload, { headers: sent })).seq;
    },
    answersTo,
    answered: async (name, atLeast = 1) => {
      await waitUntil(
        `${atLeast} answers to ${name}`,
        ANSWER_BOUND_MS,
        () => answersTo(name).length >= atLeast,
      );
      return answersTo(name);
    },
    waiting: async () => (await manager.streams.info(inputStream)).state.messages,
    inputConsumer: (input) => manager.consumers.info(inputStream, DURABLES[input]),
    close: async () => {
      out.unsubscribe();
      await connection.close();
    },
  };
}

/** Every stream of a prefix goes: each sets room aside on the broker that the test run shares. */
export async function removeStreams({ url, prefix }: BusPlace): Promise<void> {
  const connection = await connectTo(url);
  try {
    const manager = await jetstreamManager(connection);
    for (const subject of [`${prefix}.ev.>`, `${prefix}.in.>`, `${prefix}.checkpoint`]) {
      for await (const name of manager.streams.names(subject)) await manager.streams.delete(name);
    }
  } finally {
    await connection.close();
  }
}

function connectTo(url: string): Promise<NatsConnection> {
  return connect({ servers: new URL(url).host, timeout: 5_000 });
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** fallback 1.5: the first 26 characters of the lower-case base32 of SHA-256 of the message id. */
function hashed(messageId: string): string {
  const digest = createHash('sha256').update(messageId, 'utf8').digest();
  const bits = [...digest].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const fives = bits.match(/.{5}/g) ?? [];
  return fives
    .map((five) => BASE32[Number.parseInt(five, 2)])
    .join('')
    .slice(0, 26);
}
