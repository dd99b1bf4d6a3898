import { ATTEMPT_ID_MAX_CHARS } from '#domain/attempt/attempt-body';
import { MESSAGE_ID_MAX_CHARS } from '#domain/provision/launch-body';
import { CATALOGUE } from '#events/catalogue';
import type { EventDefinition } from '#events/define-event';
import { API_DESCRIPTION_VERSION } from '../openapi/document.ts';
import { componentSchemas, type Part, schema } from '../openapi/schemas.ts';
import { bodySchemaOf, eventSchemas } from './event-schemas.ts';

const ABOUT = `The bus carries the same calls as HTTP, their answers, and a copy of the log.

Callers publish to the work queue \`{prefix}.in.*\`; a message is acknowledged after it is recorded. Its id is the header
\`Spillway-Message-Id\`, never \`Nats-Msg-Id\`: the broker would drop another body with the same id unseen. The answer is
best effort: send the same id again to read it once more. Of a refused message the dead-letter row is the durable record.

Events are a window on the log, published in its order by the relay. The log itself is the truth: a consumer that finds
a gap reads it there. What callers wrote is sealed and in no event.`;

/** A kind of input: its message, and what may answer it. */
interface Input {
  readonly name: 'attempt' | 'launch' | 'observation' | 'consent';
  readonly payload: string;
  readonly idMaxChars: number;
  readonly summary: string;
  readonly answers: readonly string[];
}

const INPUTS: readonly Input[] = [
  {
    name: 'attempt',
    payload: 'Attempt',
    idMaxChars: ATTEMPT_ID_MAX_CHARS,
    summary: 'A placement failed, or succeeded.',
    answers: ['AttemptAnswer', 'Undecided'],
  },
  {
    name: 'launch',
    payload: 'Launch',
    idMaxChars: MESSAGE_ID_MAX_CHARS,
    summary: 'Place an allocation, and keep it placed.',
    answers: ['LaunchTaken'],
  },
  {
    name: 'observation',
    payload: 'Observation',
    idMaxChars: MESSAGE_ID_MAX_CHARS,
    summary: 'One poll of one instance.',
    answers: ['ObservationAnswer', 'ObservationUndecided'],
  },
  {
    name: 'consent',
    payload: 'Consent',
    idMaxChars: ATTEMPT_ID_MAX_CHARS,
    summary: 'The answer to the one open question.',
    answers: ['ConsentAnswer'],
  },
];

const ANSWERS: readonly string[] = [...new Set(INPUTS.flatMap(({ answers }) => answers)), 'Problem'];

/** Headers of our messages; a spec holds them against what is really sent. */
export const BUS_HEADERS = {
  messageId: 'Spillway-Message-Id',
  eventId: 'Nats-Msg-Id',
  expectedId: 'Nats-Expected-Last-Msg-Id',
  expectedSequence: 'Nats-Expected-Last-Sequence',
  previous: 'Spillway-Previous',
  partition: 'Spillway-Partition',
  hash: 'Spillway-Hash',
  omitted: 'Spillway-Omitted',
} as const;

/** The AsyncAPI 3.0 description of the bus, made of the schemas that the code parses and is tested with (design 6). */
export function asyncApiDocument(): Part {
  const events = Object.values(CATALOGUE);
  return {
    asyncapi: '3.0.0',
    info: { title: 'Spillway: the bus', version: API_DESCRIPTION_VERSION, description: ABOUT },
    defaultContentType: 'application/json',
    servers: {
      bus: {
        host: '127.0.0.1:4222',
        protocol: 'nats',
        description: 'NATS with JetStream, 2.9 or newer; the address is that of SPILLWAY_NATS_URL.',
      },
    },
    channels: {
      ...named(INPUTS.map((input) => [inputChannel(input), inChannel(input)])),
      answers: OUT_CHANNEL,
      checkpoint: CHECKPOINT_CHANNEL,
      ...named(events.map((event) => [eventChannel(event), evChannel(event)])),
    },
    operations: {
      ...named(INPUTS.map((input) => [`take${input.payload}`, inOperation(input)])),
      publishCheckpoint: CHECKPOINT_OPERATION,
      ...named(events.map((event) => [`publish${event.type}`, evOperation(event)])),
    },
    components: {
      schemas: used({ ...componentSchemas(), ...eventSchemas() }, [
        ...INPUTS.map(({ payload }) => payload),
        ...ANSWERS,
        CHECKPOINT,
        'RecordedEvent',
        ...events.map(({ type }) => bodySchemaOf(type)),
      ]),
      messages: {
        ...named(INPUTS.map((input) => [input.payload, inMessage(input)])),
        ...named(ANSWERS.map((name) => [name, answerMessage(name)])),
        [CHECKPOINT]: CHECKPOINT_MESSAGE,
        ...named(events.map((event) => [event.type, evMessage(event)])),
      },
      parameters: PARAMETERS,
    },
  };
}

const PARAMETERS: Part = {
  prefix: {
    default: 'spillway',
    description: "The first token of the deployment's subjects (SPILLWAY_BUS_PREFIX).",
  },
  caller: { default: 'local', description: 'The bus user; `local` without authentication.' },
  hash: {
    description:
      'The first 26 characters of the lower-case base32 of SHA-256(message id); without an id, of `seq-<sequence>`, ' +
      "which the publisher has from the queue's acknowledgement.",
  },
  partition: {
    description: 'A share of the allocations: all events of one allocation come in one partition, in order.',
  },
};

const parameters = (...names: readonly string[]) =>
  named(names.map((name) => [name, { $ref: `#/components/parameters/${name}` }]));
const message = (name: string) => ({ $ref: `#/components/messages/${name}` });
const inputChannel = ({ name }: Input) => `in.${name}`;
const eventChannel = ({ type }: EventDefinition) => `ev.${type}`;

function inChannel(input: Input): Part {
  return {
    address: `{prefix}.in.${input.name}`,
    summary: input.summary,
    servers: [{ $ref: '#/servers/bus' }],
    parameters: parameters('prefix'),
    messages: { [input.payload]: message(input.payload) },
  };
}

const OUT_CHANNEL: Part = {
  address: '{prefix}.out.{caller}.{hash}',
  summary: 'The body that the same call by HTTP would have been answered with; best effort.',
  servers: [{ $ref: '#/servers/bus' }],
  parameters: parameters('prefix', 'caller', 'hash'),
  messages: named(ANSWERS.map((name) => [name, message(name)])),
};

const CHECKPOINT = 'SignedCheckpoint';

const CHECKPOINT_CHANNEL: Part = {
  address: '{prefix}.checkpoint',
  summary: 'Where the log stood, signed: kept by the broker, outside the database. Compare the log with it.',
  servers: [{ $ref: '#/servers/bus' }],
  parameters: parameters('prefix'),
  messages: { [CHECKPOINT]: message(CHECKPOINT) },
};

const CHECKPOINT_OPERATION: Part = {
  action: 'send',
  channel: channelRef('checkpoint'),
  summary:
    'Published by `spillway admin checkpoint --publish`, with a key that no app has. Read by auditors.',
  messages: [{ $ref: `${channelRef('checkpoint').$ref}/messages/${CHECKPOINT}` }],
};

const CHECKPOINT_MESSAGE: Part = {
  name: CHECKPOINT,
  summary: 'Proves that no tail was cut and nothing up to its position made anew.',
  contentType: 'application/json',
  headers: {
    type: 'object',
    required: [BUS_HEADERS.eventId],
    properties: {
      [BUS_HEADERS.eventId]: {
        type: 'string',
        description: 'Id of the log, position and signature: a repeat within a minute is stored once.',
      },
    },
  },
  payload: schema(CHECKPOINT),
};

function evChannel(event: EventDefinition): Part {
  const { type, stage, writtenBy } = event;
  return {
    address: `{prefix}.ev.{partition}.${type}`,
    summary: `Stage ${stage}, written by ${writtenBy.join(', ')}.`,
    servers: [{ $ref: '#/servers/bus' }],
    parameters: parameters('prefix', 'partition'),
    messages: { [type]: message(type) },
  };
}

function inOperation(input: Input): Part {
  return {
    action: 'receive',
    channel: channelRef(inputChannel(input)),
    summary: input.summary,
    messages: [{ $ref: `${channelRef(inputChannel(input)).$ref}/messages/${input.payload}` }],
    reply: {
      channel: channelRef('answers'),
      messages: [...input.answers, 'Problem'].map((name) => ({
        $ref: `#/channels/answers/messages/${name}`,
      })),
    },
  };
}

function evOperation(event: EventDefinition): Part {
  const { consumedBy, type } = event;
  return {
    action: 'send',
    channel: channelRef(eventChannel(event)),
    summary: consumedBy.length === 0 ? 'No app acts on it.' : `Read by ${consumedBy.join(', ')}.`,
    messages: [{ $ref: `${channelRef(eventChannel(event)).$ref}/messages/${type}` }],
  };
}

function channelRef(name: string) {
  return { $ref: `#/channels/${name}` };
}

function inMessage({ payload, idMaxChars, summary }: Input): Part {
  return {
    name: payload,
    summary,
    contentType: 'application/json',
    headers: {
      type: 'object',
      properties: {
        [BUS_HEADERS.messageId]: {
          type: 'string',
          minLength: 1,
          maxLength: idMaxChars,
          description:
            'Names the message: the same id with the same body repeats the first answer. Without one a redelivery is ' +
            'a repeat all the same.',
        },
      },
    },
    payload: schema(payload),
  };
}

function answerMessage(name: string): Part {
  const summary =
    name === 'Problem' ? 'The message was refused: a dead-letter row tells of it.' : 'As by HTTP.';
  return { name, summary, contentType: 'application/json', payload: schema(name) };
}

function evMessage({ type, version, role }: EventDefinition): Part {
  return {
    name: type,
    title: `${type} v${version}`,
    summary: role === 'input' ? 'An input, recorded as it came.' : 'A decision or a fact.',
    contentType: 'application/json',
    headers: EVENT_HEADERS,
    payload: {
      allOf: [
        schema('RecordedEvent'),
        {
          properties: {
            type: { const: type },
            role: { const: role },
            body: {
              type: 'string',
              contentMediaType: 'application/json',
              contentSchema: schema(bodySchemaOf(type)),
              description: 'What the event says, as the exact RFC 8785 text that was hashed.',
            },
          },
        },
      ],
    },
  };
}

const EVENT_HEADERS: Part = {
  type: 'object',
  required: [BUS_HEADERS.eventId, BUS_HEADERS.previous, BUS_HEADERS.partition, BUS_HEADERS.hash],
  properties: {
    [BUS_HEADERS.eventId]: {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{1,200}:[1-9]\\d{0,15}:[0-9a-f]{16}$',
      description: 'Id of the log, position, and the first 16 hex digits of the hash.',
    },
    [BUS_HEADERS.expectedId]: {
      type: 'string',
      description: 'Id of the row before: what the relay asks the broker to check.',
    },
    [BUS_HEADERS.expectedSequence]: { type: 'string', pattern: '^\\d+$' },
    [BUS_HEADERS.previous]: {
      type: 'string',
      pattern: '^\\d{1,16}$',
      description: 'Position before this one in its partition, or one in between; consumers do not go by it.',
    },
    [BUS_HEADERS.partition]: {
      type: 'string',
      pattern: '^\\d+/\\d+$',
      description: 'Partition, and how many there are.',
    },
    [BUS_HEADERS.hash]: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    [BUS_HEADERS.omitted]: {
      type: 'string',
      const: '1',
      description: 'The row is too large for the broker: the message is empty, and is read from the log.',
    },
  },
};

/** The schemas that are reached from these, in their order: the document holds no others. */
function used(all: Part, names: readonly string[]): Part {
  const found = new Set<string>();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    for (const [, ref] of JSON.stringify(all[name]).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (ref !== undefined) waiting.push(ref);
    }
  }
  return named(Object.entries(all).filter(([name]) => found.has(name)));
}

function named(entries: readonly (readonly [string, unknown])[]): Part {
  return Object.fromEntries(entries);
}
