import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';

/** Who read what, outside the event log: reading must not change what is read (design 3). */
export interface AccessLog {
  write(entry: AccessEntry): void;
  close(): void;
}

/** One read. Nothing that a caller typed, beside a ref in its own form. */
export interface AccessEntry {
  /** The caller as the authenticator knows it; null = refused before it was known. */
  readonly subject: string | null;
  readonly method: string;
  /** Template of the route, never the path itself. */
  readonly route: string;
  readonly ref: string | null;
  readonly status: number;
  readonly durationMs: number;
}

export interface AccessLogOptions {
  readonly app: string;
  readonly deployment: string;
  /** Absent = standard output. */
  readonly file?: string | undefined;
  /** From this size on the file is set aside as `<file>.1`, whose earlier content goes. */
  readonly fileMaxBytes?: number;
  /** Told when a line could not be written. */
  readonly onFault: (error: unknown) => void;
}

const FILE_MAX_BYTES = 64 * 1024 * 1024;
const WITHHELD = '[withheld]';
const SUBJECT = /^[\x21-\x7e]{1,200}$/;
const REF = /^[0-9a-f]{64}$/;

/** Opens the access log; one JSON object a line. Throws when its file cannot be opened. */
export function openAccessLog(options: AccessLogOptions): AccessLog {
  const { app, deployment, file, onFault, fileMaxBytes = FILE_MAX_BYTES } = options;
  const target = file === undefined ? null : new BoundedFile(file, fileMaxBytes);
  const sink = pino(
    {
      base: { app, deployment },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: KIND,
    },
    target ?? pino.destination({ fd: 1, sync: true }),
  );
  return {
    write({ subject, ref, durationMs, ...rest }) {
      try {
        sink.info({
          subject: subject === null || SUBJECT.test(subject) ? subject : WITHHELD,
          ...rest,
          ref: ref !== null && REF.test(ref) ? ref : null,
          durationMs: Math.round(durationMs),
        });
      } catch (error) {
        onFault(error);
      }
    },
    close: () => target?.close(),
  };
}

/** Every line has the same level, so its place says what kind of line it is. */
const KIND = { level: () => ({ log: 'access' }) };

/** Writes a line for every answer to a path below `prefix`, refusals included. */
export function logAccess(server: FastifyInstance, prefix: string, log: AccessLog): void {
  server.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url;
    if (route === undefined || !route.startsWith(prefix)) return;
    const { params } = request;
    const ref = typeof params === 'object' && params !== null && 'ref' in params ? params.ref : null;
    log.write({
      subject: request.caller?.subject ?? null,
      method: request.method,
      route,
      ref: typeof ref === 'string' ? ref : null,
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
    });
  });
}

/** Appends to a file that never grows over its bound, with one older one beside it. */
class BoundedFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #fd: number;
  #bytes: number;

  constructor(path: string, maxBytes: number) {
    mkdirSync(dirname(path), { recursive: true });
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#fd = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#fd).size;
  }

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#maxBytes) this.#setAside();
    writeSync(this.#fd, line);
    this.#bytes += bytes;
  }

  close(): void {
    closeSync(this.#fd);
  }

  #setAside(): void {
    closeSync(this.#fd);
    renameSync(this.#path, `${this.#path}.1`);
    this.#fd = openSync(this.#path, 'a', 0o600);
    this.#bytes = 0;
  }
}
