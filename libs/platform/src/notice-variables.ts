import { z } from 'zod';
import { NOTICE_TYPES, type NoticeType } from '#domain/prompt/notice';
import { ConfigError } from './load-config.ts';
import { Secret } from './secret.ts';
import { httpUrl, wholeNumber } from './variables.ts';

/** Where notices go, with what signs them. The address may hold a secret of its own: never print it. */
export interface Receiver {
  readonly name: string;
  readonly url: Secret<string>;
  /** What it wants to be told of. */
  readonly events: readonly NoticeType[];
  /** `whsec_...`, newest first: while keys are changed each notice carries a signature of each. */
  readonly keys: Secret<readonly string[]>;
}

interface ReceiverPlace {
  readonly name: string;
  readonly url: string;
  readonly events: readonly NoticeType[];
}

const RECEIVERS_MAX = 16;
const KEYS_MAX = 8;
/** Standard Webhooks asks for 24 to 64 bytes. */
const KEY_MIN_BYTES = 24;
const KEY_MAX_BYTES = 64;

/** Who is told of questions and alerts, and how. Of the app `consent` only. */
export const noticeVariables = {
  SPILLWAY_WEBHOOKS: z
    .string()
    .default('[]')
    .transform((text, context): Secret<readonly ReceiverPlace[]> => {
      const places = parsedJson(text);
      const refused = placesProblem(places);
      if (refused === null) return new Secret(Places.parse(places));
      context.addIssue({ code: 'custom', message: refused });
      return z.NEVER;
    })
    .meta({
      description:
        'Receivers of notices, a JSON list: [{"name": 1 to 32 characters a-z 0-9 -, "url": https://..., ' +
        `"events": some of ${NOTICE_TYPES.join(', ')}}]. Without "events" all. http:// is for loopback only.`,
      orFile: true,
    }),
  SPILLWAY_WEBHOOK_SECRETS: z
    .string()
    .default('{}')
    .transform((text, context): Secret<Readonly<Record<string, readonly string[]>>> => {
      const parsed = Keys.safeParse(parsedJson(text));
      if (parsed.success) return new Secret(parsed.data);
      context.addIssue({ code: 'custom', message: keysProblem(parsed.error) });
      return z.NEVER;
    })
    .meta({
      description:
        'Keys that sign notices, newest first, by the name of the receiver: {"name": ["whsec_" + base64 of 24 to ' +
        '64 bytes]}. With several keys each notice carries a signature of each.',
      orFile: true,
    }),
  SPILLWAY_NOTICE_BEFORE_EXPIRY_S: wholeNumber(0, 31_536_000)
    .default(3_600)
    .describe(
      'How long before its end an open question is told of again, in seconds; at most half of its life.',
    ),
  SPILLWAY_NOTICE_TIMEOUT_MS: wholeNumber(100, 60_000)
    .default(10_000)
    .describe('How long a receiver may take to answer, in milliseconds.'),
  SPILLWAY_NOTICE_FIRST_PAUSE_MS: wholeNumber(10, 3_600_000)
    .default(5_000)
    .describe('Pause after the first try that failed, in milliseconds; it doubles with each further one.'),
  SPILLWAY_NOTICE_LONGEST_PAUSE_S: wholeNumber(1, 86_400)
    .default(900)
    .describe('Longest pause between two tries of a notice, in seconds.'),
  SPILLWAY_NOTICE_GIVE_UP_S: wholeNumber(1, 31_536_000)
    .default(259_200)
    .describe('For how long a notice is tried before it is given up and shown as failed, in seconds.'),
} as const;

/** The receivers with their keys. Throws ConfigError that names each receiver without keys and each key without one. */
export function receiversOf(config: {
  readonly SPILLWAY_WEBHOOKS: Secret<readonly ReceiverPlace[]>;
  readonly SPILLWAY_WEBHOOK_SECRETS: Secret<Readonly<Record<string, readonly string[]>>>;
}): readonly Receiver[] {
  const places = config.SPILLWAY_WEBHOOKS.reveal();
  const keys = new Map(Object.entries(config.SPILLWAY_WEBHOOK_SECRETS.reveal()));
  const without = places.filter(({ name }) => !keys.has(name)).map(({ name }) => name);
  const unused = [...keys.keys()].filter((name) => !places.some((place) => place.name === name));
  const variable = 'SPILLWAY_WEBHOOK_SECRETS';
  const problems = [
    ...without.map((name) => ({ variable, problem: `has no key for the receiver ${name}` })),
    ...unused.map((name) => ({
      variable,
      problem: `has a key for ${name}, which SPILLWAY_WEBHOOKS does not name`,
    })),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  return places.map(({ name, url, events }) => ({
    name,
    url: new Secret(url),
    events,
    keys: new Secret(keys.get(name) ?? []),
  }));
}

const Name = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/);

const Place = z
  .strictObject({
    name: Name,
    url: z.string().max(2_048).refine(isReceiverUrl),
    events: z.array(z.enum(NOTICE_TYPES)).min(1).optional(),
  })
  .transform(({ name, url, events }): ReceiverPlace => ({ name, url, events: events ?? NOTICE_TYPES }));

const Places = z
  .array(Place)
  .max(RECEIVERS_MAX)
  .refine((places) => new Set(places.map(({ name }) => name)).size === places.length);

const Key = z.string().refine((key) => {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(key) ?? [];
  if (base64 === undefined || base64.length % 4 !== 0) return false;
  const { length } = Buffer.from(base64, 'base64');
  return length >= KEY_MIN_BYTES && length <= KEY_MAX_BYTES;
});
const Keys = z.record(Name, z.array(Key).min(1).max(KEYS_MAX));

/** What is wrong with a list of receivers, without quoting it: by place in the list and member. */
function placesProblem(places: unknown): string | null {
  const parsed = Places.safeParse(places);
  if (parsed.success) return null;
  const [issue] = parsed.error.issues;
  const [index, member] = issue?.path ?? [];
  if (typeof index !== 'number') {
    return `is no JSON list of at most ${RECEIVERS_MAX} receivers, each with a name of its own`;
  }
  const where = `receiver ${index + 1}`;
  switch (member) {
    case 'name':
      return `${where}: "name" is not 1 to 32 lower-case letters, digits or -, a letter first`;
    case 'url':
      return `${where}: "url" is no https:// address without login and fragment (http:// is for loopback only)`;
    case 'events':
      return `${where}: "events" is no list of ${NOTICE_TYPES.join(', ')}`;
    default:
      return `${where}: is no object of "name", "url" and perhaps "events"`;
  }
}

function keysProblem(error: z.ZodError): string {
  const [name] = error.issues[0]?.path ?? [];
  const whose = typeof name === 'string' && Name.safeParse(name).success ? ` (at ${name})` : '';
  return (
    `is no JSON object of receiver names with 1 to ${KEYS_MAX} keys each, in the form "whsec_" and base64 of ` +
    `${KEY_MIN_BYTES} to ${KEY_MAX_BYTES} bytes${whose}`
  );
}

function isReceiverUrl(text: string): boolean {
  const url = httpUrl(text);
  if (url === null || url.hash !== '') return false;
  return url.protocol === 'https:' || LOOPBACK.test(url.hostname);
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
