import { type DestinationStream, pino } from 'pino';
import { type ErrorFields, fieldsOfError } from './logged-error.ts';
import { RepeatedLines } from './repeated-lines.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/**
 * Everything a log line may say beside its event name and an error. A closed set, because a free field is
 * where a name, a message or a token ends up (fallback 7). To say something new, add it here with its form.
 */
export interface LogFields {
  /** 64 hex digits: a ref, an evidence or action digest, a hash of the log. */
  readonly ref?: string;
  readonly digest?: string;
  readonly hash?: string;
  /** 26 base32 characters. */
  readonly eventId?: string;
  readonly intentId?: string;
  /** Identity of a log (a UUID or base32). */
  readonly logId?: string;
  readonly otherLogId?: string;
  readonly eventType?: string;
  /** Names that we gave ourselves: a consumer, a partition's lease, a lane, a stream on the bus, a receiver of notices, a problem type. */
  readonly consumer?: string;
  readonly lane?: string;
  readonly busStream?: string;
  readonly receiver?: string;
  readonly check?: string;
  /** Class of an error of a library, where the error itself is not at hand. */
  readonly errorName?: string;
  readonly closer?: string;
  /** Public id of a configured key, never the key. */
  readonly keyId?: string;
  /** Members of closed unions; a plain `string` does not compile. */
  readonly state?: string;
  readonly reason?: string;
  readonly outcome?: string;
  readonly signal?: string;
  readonly pos?: number;
  readonly fromPos?: number;
  readonly toPos?: number;
  readonly partition?: number;
  readonly fence?: number;
  readonly version?: number;
  readonly count?: number;
  readonly bytes?: number;
  readonly tries?: number;
  readonly status?: number;
  readonly port?: number;
  /** Lines like this one that were left out since the last. */
  readonly repeats?: number;
  readonly lagMs?: number;
  readonly durationMs?: number;
}

type Union = 'state' | 'reason' | 'outcome' | 'signal';
type Closed<Word> = string extends Word ? never : Word;
/** Refuses words that could be anything: what is not known when this compiles is not logged. */
export type Closely<Fields> = {
  readonly [Name in keyof Fields]: Name extends Union ? Closed<Fields[Name]> : Fields[Name];
};

/** One JSON object a line. `event` is a literal in snake_case, such as `relay_stopped`. */
export interface Logger {
  debug<Fields extends LogFields>(event: string, fields?: Fields & Closely<Fields>): void;
  info<Fields extends LogFields>(event: string, fields?: Fields & Closely<Fields>): void;
  /**
   * The world failed: of the error only its class and our own code are printed. A line with an error that says again
   * what was said within SAME_LINE_EVERY_MS is left out, and counted in the next one.
   */
  warn<Fields extends LogFields>(event: string, fields?: Fields & Closely<Fields>, error?: unknown): void;
  /** We were wrong: also the places in the code (never the error's message). */
  error<Fields extends LogFields>(event: string, fields?: Fields & Closely<Fields>, error?: unknown): void;
}

export interface LoggerOptions {
  readonly app: string;
  readonly deployment: string;
  readonly level: LogLevel;
  /** Where lines go; standard output unless given. */
  readonly destination?: DestinationStream;
  /** Monotonic milliseconds; those of the process unless given. */
  readonly now?: () => number;
}

/**
 * A logger that cannot leak: each field is printed only in the form that it is known to have, everything else
 * as `[withheld]`, also when the types were got round.
 */
export function createLogger(options: LoggerOptions): Logger {
  const sink = pino(
    {
      level: options.level,
      base: { app: options.app, deployment: options.deployment },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // Synchronous, so that the line that explains an exit is written before it.
    options.destination ?? pino.destination({ fd: 1, sync: true }),
  );
  const repeated = new RepeatedLines(options.now);
  const write = (level: LogLevel, event: string, fields: LogFields | undefined, error?: ErrorFields) => {
    if (!sink.isLevelEnabled(level)) return;
    sink[level]({
      event: EVENT_NAME.test(event) ? event : WITHHELD,
      ...printable(fields ?? {}),
      ...(error === undefined ? {} : { error }),
    });
  };
  return {
    debug: (event, fields) => write('debug', event, fields),
    info: (event, fields) => write('info', event, fields),
    warn: (event, fields, error) => {
      if (error === undefined) return write('warn', event, fields);
      const failure = fieldsOfError(error, false);
      const repeats = repeated.leftOutBefore(JSON.stringify([event, printable(fields ?? {}), failure]));
      if (repeats === null) return;
      write('warn', event, repeats === 0 ? fields : { ...fields, repeats }, failure);
    },
    error: (event, fields, error) =>
      write('error', event, fields, error === undefined ? undefined : fieldsOfError(error, true)),
  };
}

/** A logger for tests and tools that want silence. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/**
 * What a web framework may log through: that it had something to say and how bad it was. Its words are dropped,
 * since a framework puts request paths and error messages in them.
 */
export function frameworkLogger(logger: Logger) {
  return {
    log: () => logger.debug('framework_message'),
    debug: () => undefined,
    verbose: () => undefined,
    warn: () => logger.warn('framework_warning'),
    error: (thrown: unknown) =>
      logger.error('framework_error', {}, thrown instanceof Error ? thrown : undefined),
    fatal: (thrown: unknown) =>
      logger.error('framework_error', {}, thrown instanceof Error ? thrown : undefined),
  };
}

const WITHHELD = '[withheld]';
const EVENT_NAME = /^[a-z][a-z0-9_]{0,63}$/;

type Form = (value: unknown) => boolean;
const form =
  (pattern: RegExp): Form =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const number: Form = (value) => typeof value === 'number' && Number.isFinite(value);
const digest = form(/^[0-9a-f]{64}$/);
const id = form(/^[a-z2-7]{26}$/);
const logId = form(/^[0-9a-z-]{1,40}$/);
const keyId = form(/^[a-z0-9][a-z0-9_-]{0,31}$/);
const name = form(/^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/);

const FORMS: Readonly<Record<keyof LogFields, Form>> = {
  ref: digest,
  digest,
  hash: digest,
  eventId: id,
  intentId: id,
  logId,
  otherLogId: logId,
  eventType: form(/^[A-Z][A-Za-z0-9]{0,63}$/),
  consumer: name,
  lane: name,
  busStream: name,
  receiver: name,
  check: name,
  errorName: name,
  closer: name,
  keyId,
  state: name,
  reason: name,
  outcome: name,
  signal: name,
  pos: number,
  fromPos: number,
  toPos: number,
  partition: number,
  fence: number,
  version: number,
  count: number,
  bytes: number,
  tries: number,
  status: number,
  port: number,
  repeats: number,
  lagMs: number,
  durationMs: number,
};

function printable(fields: LogFields): Readonly<Record<string, unknown>> {
  const forms: Readonly<Record<string, Form | undefined>> = FORMS;
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) => {
      const fits = Object.hasOwn(forms, key) ? forms[key] : undefined;
      // The name of an unknown field is as free as its value: neither is printed.
      if (fits === undefined || value === undefined) return [];
      return [[key, fits(value) ? value : WITHHELD]];
    }),
  );
}
