import { readFileSync } from 'node:fs';
import asyncApiSpecs from '@asyncapi/specs';
import { MsgHdrsImpl } from '@nats-io/nats-core/internal';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { signCheckpoint } from '#event-log/signed-checkpoint';
import { signingKeys } from '#event-log/signing-keys';
import { CATALOGUE } from '#events/catalogue';
import { answerSubject } from '#messaging/answers';
import { checkpointSubject } from '#messaging/checkpoint-record';
import { eventMessage } from '#messaging/event-message';
import { MESSAGE_ID_HEADER } from '#messaging/inbox';
import { eventSubject, INPUT_NAMES, topologyOf } from '#messaging/topology';
import { asyncApiDocument, BUS_HEADERS } from '#platform/asyncapi/document';
import { PROBLEM_NAMES, problem } from '#platform/problem';
import { ATTEMPT_BODY } from '#support/attempt-bodies';
import { LAUNCH_BODY, OBSERVATION_BODY } from '#support/launch-bodies';
import { recordedRow } from '#support/recorded';
import { ASYNCAPI_FILE, asyncApiText } from './text.ts';

const Ref = z.object({ $ref: z.string() });
const Document = z.object({
  channels: z.record(
    z.string(),
    z.object({
      address: z.string(),
      parameters: z.record(z.string(), Ref),
      messages: z.record(z.string(), Ref),
    }),
  ),
  operations: z.record(
    z.string(),
    z.object({
      action: z.string(),
      channel: Ref,
      messages: z.array(Ref),
      reply: z.object({ channel: Ref, messages: z.array(Ref) }).optional(),
    }),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.record(z.string(), z.unknown())),
    messages: z.record(z.string(), z.object({ headers: z.record(z.string(), z.unknown()).optional() })),
    parameters: z.record(z.string(), z.unknown()),
  }),
});
const document = Document.parse(JSON.parse(asyncApiText()));
const { channels, operations, components } = document;
const topology = topologyOf({ deployment: 'test', partitions: 8 });

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'https://spillway.test/bus', ...asyncApiDocument() });
const validatorOf = (ref: string): ValidateFunction =>
  ajv.compile({ $ref: `https://spillway.test/bus${ref}` });

/** What a reference of the document points to; undefined = nowhere. */
const WRITTEN: unknown = JSON.parse(asyncApiText());

function at(ref: string): unknown {
  return ref
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (place, name) => (typeof place === 'object' && place !== null ? Reflect.get(place, name) : undefined),
      WRITTEN,
    );
}

test('the file is what `npm run asyncapi` writes now', () => {
  expect(readFileSync(ASYNCAPI_FILE, 'utf8') === asyncApiText(), 'run `npm run asyncapi`').toBe(true);
});

test('the description is valid AsyncAPI 3.0, by the official schema', () => {
  const official = new Ajv({
    strict: false,
    validateFormats: false,
    // The official schema brings its own copy of draft 7.
    meta: false,
    validateSchema: false,
  });
  const validate = official.compile(z.record(z.string(), z.unknown()).parse(asyncApiSpecs.schemas['3.0.0']));
  validate(JSON.parse(asyncApiText()));
  expect(validate.errors ?? []).toEqual([]);
  expect(validate({ ...asyncApiDocument(), channels: { wrong: { address: 1 } } })).toBe(false);
});

test('every reference points to something', () => {
  const refs = [...asyncApiText().matchAll(/"\$ref": "(#[^"]+)"/g)].map(([, ref]) => ref ?? '');
  expect(refs.length).toBeGreaterThan(300);
  expect([...new Set(refs)].filter((ref) => at(ref) === undefined)).toEqual([]);
});

/** A subject as the document writes it, with the parameters given. */
function subjectOf(channel: string, values: Readonly<Record<string, string>>): string {
  const address = channels[channel]?.address ?? '';
  return address.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? '?');
}

describe('the channels', () => {
  test('are the subjects that the code uses, and no others', () => {
    expect(Object.keys(channels).sort()).toEqual(
      [
        ...INPUT_NAMES.map((name) => `in.${name}`),
        'answers',
        'checkpoint',
        ...Object.keys(CATALOGUE).map((type) => `ev.${type}`),
      ].sort(),
    );
    for (const name of INPUT_NAMES) {
      expect(subjectOf(`in.${name}`, { prefix: topology.prefix })).toBe(`${topology.prefix}.in.${name}`);
    }
    for (const type of Object.keys(CATALOGUE)) {
      const values = { prefix: topology.prefix, partition: '3' };
      expect(subjectOf(`ev.${type}`, values)).toBe(eventSubject(topology, 3, type));
    }
    expect(subjectOf('checkpoint', { prefix: topology.prefix })).toBe(checkpointSubject(topology));
    const [prefix = '', out, caller = '', hash = ''] = answerSubject(topology, 'local', {
      messageId: 'run-7#3',
      sequence: 1,
    }).split('.');
    expect(subjectOf('answers', { prefix, caller, hash })).toBe([prefix, out, caller, hash].join('.'));
  });

  test('name each of their parameters', () => {
    for (const { address, parameters } of Object.values(channels)) {
      const names = [...address.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(Object.keys(parameters)).toEqual(names);
    }
  });

  test('have one operation each: inputs are taken and answered, events are published', () => {
    const { answers: _reply, ...worked } = channels;
    expect(
      Object.values(operations)
        .map(({ channel }) => channel.$ref)
        .sort(),
    ).toEqual(
      Object.keys(worked)
        .map((name) => `#/channels/${name}`)
        .sort(),
    );
    for (const { action, channel, reply } of Object.values(operations)) {
      const isInput = channel.$ref.startsWith('#/channels/in.');
      expect([action, reply?.channel.$ref]).toEqual(
        isInput ? ['receive', '#/channels/answers'] : ['send', undefined],
      );
    }
  });
});

/** The headers of a message as a consumer reads them off the wire. */
function headersOf({ headers }: ReturnType<typeof eventMessage>): Readonly<Record<string, string>> {
  if (!(headers instanceof MsgHdrsImpl)) throw new Error('headers that can be written out');
  const wire = Buffer.from(headers.encode()).toString('utf8');
  return Object.fromEntries(
    [...wire.matchAll(/^([\w-]+): (.*)\r$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
}

describe('the messages', () => {
  test.each([
    ['Attempt', ATTEMPT_BODY],
    ['Launch', LAUNCH_BODY],
    ['Observation', OBSERVATION_BODY],
    ['Consent', { logical_allocation: 'team/train-7', accept: false }],
  ])('an ordinary %s has the described form, and a number has not', (name, body) => {
    const validate = validatorOf(`#/components/schemas/${name}`);
    validate(JSON.parse(JSON.stringify(body)));
    expect(validate.errors ?? []).toEqual([]);
    expect(validate(7)).toBe(false);
  });

  test('a checkpoint as it is signed has the described form, and a changed one has not', () => {
    const [key] = signingKeys([{ id: 'k1', bytes: new Uint8Array(32) }]);
    if (key === undefined) throw new Error('a ring of one key');
    const at = '2026-11-29T12:00:00.000Z';
    const signed = signCheckpoint({ logId: 'log-1', pos: 7, hash: 'a'.repeat(64), recordedAt: at }, key, at);
    const validate = validatorOf('#/components/messages/SignedCheckpoint/payload');
    validate(JSON.parse(JSON.stringify(signed)));
    expect(validate.errors ?? []).toEqual([]);
    expect(validate({ ...signed, pos: 0 })).toBe(false);
    expect(validate({ ...signed, more: 1 })).toBe(false);
  });

  test('every problem has the form of a refusal', () => {
    const validate = validatorOf('#/components/schemas/Problem');
    expect(PROBLEM_NAMES.filter((name) => !validate(problem(name, { errors: [] }).body))).toEqual([]);
  });

  const Golden = z.object({
    type: z.string(),
    schemaVersion: z.int(),
    role: z.enum(['input', 'decision']),
    body: z.string(),
    meta: z.string(),
  });
  test.each(Object.values(CATALOGUE))('a recorded $type has the described form', ({ type, version }) => {
    const sample = Golden.parse(JSON.parse(readFileSync(`test/golden/${type}.v${version}.json`, 'utf8')));
    const row = recordedRow({ ...sample, slot: 11 });
    const sent = eventMessage(topology, 'log-1', row, 0, { lastId: 'log-1:1:0', lastSequence: 4 }, 1_000_000);
    const validate = validatorOf(`#/components/messages/${type}/payload`);
    validate(JSON.parse(sent.body));
    expect(validate.errors ?? []).toEqual([]);
    expect(validate({ ...JSON.parse(sent.body), type: 'AnotherEvent' })).toBe(false);

    const body = validatorOf(`#/components/schemas/${type}Body`);
    body(JSON.parse(sample.body));
    expect(body.errors ?? []).toEqual([]);
    expect(body({ ...JSON.parse(sample.body), unknown: 1 })).toBe(false);

    const headers = headersOf(sent);
    const validHeaders = validatorOf(`#/components/messages/${type}/headers`);
    validHeaders(headers);
    expect(validHeaders.errors ?? []).toEqual([]);
  });

  test('carry the headers that the code sends and reads, and no others', () => {
    const expected = { lastId: 'a', lastSequence: 1 };
    const names = Object.keys(headersOf(eventMessage(topology, 'log-1', recordedRow(), 0, expected, 1)));
    const { messageId, ...ofEvents } = BUS_HEADERS;
    expect(names.sort()).toEqual(Object.values(ofEvents).sort());
    expect(messageId).toBe(MESSAGE_ID_HEADER);
    expect(Object.keys(components.messages).length).toBe(
      new Set(Object.values(channels).flatMap(({ messages }) => Object.keys(messages))).size,
    );
  });
});
