import { z } from 'zod';
import { hostNameOf } from './own-hosts.ts';
import { Secret } from './secret.ts';

const ED25519_SEED_BYTES = 32;

/** A named key. The id is public: it is written beside what was made with the key. */
export interface NamedKey {
  readonly id: string;
  /** At least 32 bytes. */
  readonly bytes: Uint8Array;
}

/** Keys, newest first; never empty. */
export type NamedKeys = Secret<readonly NamedKey[]>;

/** Where events are kept: the one thing no app runs without. */
export const logVariables = {
  SPILLWAY_DATABASE_URL: connection(['postgres:', 'postgresql:']).meta({
    description: 'Postgres of the log: postgres://user:password@host:port/database.',
    orFile: true,
  }),
  SPILLWAY_PARTITIONS: wholeNumber(1, 256)
    .default(4)
    .describe('Into how many partitions consumers share the allocations. The same for all apps, 1 to 256.'),
} as const;

/** The way in by messages, and what wakes consumers. Without it calls by HTTP work from the log alone. */
export const busVariables = {
  SPILLWAY_NATS_URL: connection(['nats:', 'tls:']).optional().meta({
    description: 'NATS server with JetStream: nats://host:port. Absent = no bus, the log alone.',
    orFile: true,
  }),
  SPILLWAY_BUS_PREFIX: text(/^[a-z][a-z0-9-]{0,31}$/, 'is not 1 to 32 lower-case letters, digits or -')
    .default('spillway')
    .describe('First word of all subjects and stream names on the bus.'),
} as const;

/** What every app has. */
export const deploymentVariables = {
  SPILLWAY_DEPLOYMENT: text(
    /^[a-z][a-z0-9]{0,11}$/,
    'is not 1 to 12 lower-case letters and digits, a letter first',
  )
    .default('local')
    .describe(
      'Name of this deployment, 1 to 12 characters a-z 0-9. Part of machine markers: never reuse one.',
    ),
  SPILLWAY_END_WITH_STDIN: z
    .enum(['yes', 'no'])
    .default('no')
    .describe('yes = end when standard input closes: whoever started the process holds it open.'),
  SPILLWAY_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Least level that is logged: debug, info, warn or error.'),
} as const;

/** Keys of digests, refs and tokens, and the keys that wrap record keys (fallback 5). */
export const keyVariables = {
  SPILLWAY_KEY_RING: keys().meta({
    description:
      'Keys of refs, digests and tokens, newest first: id:base64[,id:base64], each at least 32 bytes. ' +
      'A key stays until no allocation under it is open.',
    orFile: true,
  }),
  SPILLWAY_WRAP_KEYS: keys().meta({
    description:
      'Keys that wrap record keys, newest first, in the form of SPILLWAY_KEY_RING; never the same keys.',
    orFile: true,
  }),
} as const;

/** Keys of whoever signs what leaves the database; no app has them (design 5). */
export const proofVariables = {
  SPILLWAY_CHECKPOINT_KEYS: keys(ED25519_SEED_BYTES)
    .optional()
    .meta({
      description:
        'Ed25519 seeds that sign checkpoints and exports, newest first, in the form of SPILLWAY_KEY_RING, each ' +
        'exactly 32 bytes. A new key goes first; the one behind it makes it known in the file of checkpoints.',
      orFile: true,
    }),
} as const;

/** Where an app listens. Each app has its own default port. */
export function httpVariables(defaultPort: number) {
  return {
    SPILLWAY_HOST: z
      .string()
      .refine(isLoopback, {
        error:
          'is no loopback address: authentication is not built yet, so everyone who reaches the port may answer',
      })
      .default('127.0.0.1')
      .describe('Loopback address to listen on: 127.0.0.1, ::1 or localhost.'),
    SPILLWAY_PORT: wholeNumber(0, 65_535)
      .default(defaultPort)
      .describe('Port to listen on; 0 takes a free one.'),
    SPILLWAY_PUBLIC_URL: z
      .string()
      .default('http://127.0.0.1:8787')
      .refine(isOrigin, { error: 'is no http:// or https:// address without query, fragment and login' })
      .transform((url) => url.replace(/\/+$/, ''))
      .describe(
        'Address under which people reach the page, the same for all apps: notices link to it, and calls are answered under its host.',
      ),
    SPILLWAY_HOST_NAMES: z
      .string()
      .default('')
      .transform((text, context): readonly string[] => {
        const names = text.split(',').filter((name) => name.trim() !== '');
        const hosts = names.map((name) => hostNameOf(name.trim())).filter((name) => name !== null);
        if (hosts.length === names.length) return hosts;
        context.addIssue({ code: 'custom', message: 'is no list of host names, separated by commas' });
        return z.NEVER;
      })
      .describe(
        'Host names under which calls are answered beside those of loopback and of SPILLWAY_PUBLIC_URL: name[,name].',
      ),
  } as const;
}

/** Where it is kept who read what: beside the log, never in it. */
export const accessVariables = {
  SPILLWAY_ACCESS_LOG_FILE: z
    .string()
    .optional()
    .describe(
      'File that reads are appended to, a line each; at 64 MiB it is set aside as <file>.1. Absent = standard output.',
    ),
} as const;

/** What the rules take from configuration; per deployment, never per call (fallback 3 and 6). */
export const ruleVariables = {
  SPILLWAY_PROMPT_THRESHOLD: wholeNumber(1, 1_000)
    .default(3)
    .describe('After how many counting failures a person is asked.'),
  SPILLWAY_PROMPT_BUDGET: wholeNumber(1, 10_000)
    .default(20)
    .describe('Questions per allocation in 24 hours.'),
  SPILLWAY_TOKEN_LIFE_S: wholeNumber(1, 31_536_000)
    .default(86_400)
    .describe('Life time of a confirm token, in seconds.'),
} as const;

/** What the edge takes from configuration. */
export const intakeVariables = {
  SPILLWAY_DECISION_WAIT_MS: wholeNumber(0, 60_000)
    .default(5_000)
    .describe('How long a call waits for its decision before it answers 202, in milliseconds.'),
  SPILLWAY_CALLS_PER_SECOND: wholeNumber(1, 1_000_000)
    .default(2_000)
    .describe('Calls per second and caller; above it the answer is 429.'),
  SPILLWAY_FAILURE_RETENTION_DAYS: wholeNumber(1, 3_650)
    .default(30)
    .describe('How long the text of a failure is kept, in days.'),
} as const;

/** A whole number written in digits. Blanks, signs, 0x10 and 1e3 are refused rather than read as something. */
export function wholeNumber(least: number, most: number) {
  return z
    .string()
    .refine((value) => /^\d{1,15}$/.test(value), { error: 'is no whole number' })
    .transform(Number)
    .pipe(z.number().min(least).max(most));
}

function text(form: RegExp, refusal: string) {
  return z.string().refine((value) => form.test(value), { error: refusal });
}

function connection(protocols: readonly string[]) {
  return z
    .string()
    .refine((value) => value.split(',').every((part) => protocols.includes(protocolOf(part))), {
      error: `is no URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    })
    .transform((value) => new Secret(value));
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : '';
}

function isOrigin(text: string): boolean {
  const url = httpUrl(text);
  return url !== null && url.search === '' && url.hash === '';
}

/** An http address, null for any other. One that a login would be sent to is none: the signature says who sends. */
export function httpUrl(text: string): URL | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isHttp = url.protocol === 'https:' || url.protocol === 'http:';
  return isHttp && url.username === '' && url.password === '' ? url : null;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function keys(exactBytes: number | null = null) {
  return z.string().transform((value, context): NamedKeys => {
    const named = value.split(',').map((part) => keyOf(part.trim(), exactBytes));
    const malformed = named.indexOf(null);
    const sound = named.filter((key) => key !== null);
    if (malformed >= 0) {
      const message = `has the wrong form at key ${malformed + 1}: id:base64 with ${exactBytes === null ? 'at least' : 'exactly'} ${exactBytes ?? MIN_KEY_BYTES} bytes is expected`;
      context.addIssue({ code: 'custom', message });
    } else if (new Set(sound.map((key) => key.id)).size < sound.length) {
      context.addIssue({ code: 'custom', message: 'names a key id twice' });
    }
    return new Secret(sound);
  });
}

const MIN_KEY_BYTES = 32;

function keyOf(part: string, exactBytes: number | null): NamedKey | null {
  const [, id, base64] = /^([a-z0-9][a-z0-9_-]{0,31}):([A-Za-z0-9+/]+={0,2})$/.exec(part) ?? [];
  if (id === undefined || base64 === undefined) return null;
  const bytes = Buffer.from(base64, 'base64');
  const isSound = exactBytes === null ? bytes.length >= MIN_KEY_BYTES : bytes.length === exactBytes;
  return isSound ? { id, bytes } : null;
}
