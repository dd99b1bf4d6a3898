import { digest } from '#domain/digest';
import type { KeyRing } from '#domain/key-ring';
import type { Log } from '#domain/log-tables';
import { Answers } from '#messaging/answers';
import type { Bus } from '#messaging/connect-bus';
import { Inbox } from '#messaging/inbox';
import { inputHandler } from '#messaging/input-handler';
import { openBus, RelaySide } from '#messaging/relay-side';
import { BODY_MAX_BYTES, parseJson } from '#platform/http-server';
import { randomId } from '#platform/ids';
import type { Logger } from '#platform/logger';
import { problem } from '#platform/problem';
import type { AttemptCalls } from './attempt-calls.ts';
import { relayReports } from './relay-reports.ts';

export interface IngestBusOptions {
  readonly url: string;
  readonly prefix: string;
  readonly deployment: string;
  readonly partitions: number;
  readonly log: Log;
  readonly ring: KeyRing;
  readonly calls: AttemptCalls;
  readonly logger: Logger;
}

const RETRY_AFTER_MS = 1_000;
/** Bus callers while the bus has no authentication (fallback 1.5). */
const BUS_SUBJECT = 'local';

/** What `ingest` does on the bus: takes `in.attempt`, answers, and relays the log (design 6). */
export class IngestBus {
  readonly #bus: Bus;
  readonly #relaySide: RelaySide;
  readonly #inbox: Inbox;

  constructor(options: IngestBusOptions) {
    const { log, ring, calls, logger } = options;
    const { bus, topology } = openBus({ ...options, clientName: 'spillway-ingest' });
    this.#bus = bus;
    this.#relaySide = new RelaySide({
      bus,
      topology,
      log,
      holder: randomId(),
      onStatus: relayReports(logger),
    });
    this.#inbox = new Inbox({
      bus,
      topology,
      app: 'ingest',
      name: 'attempt',
      answers: new Answers(bus, topology),
      onFailure: ({ failure, deliveries }) =>
        logger.warn('input_failed', { reason: failure, tries: deliveries }),
      handle: inputHandler({
        call: async ({ body, messageId, queue }) => {
          const result = await calls.attempt({
            body,
            sentId: messageId,
            fallback: queue,
            subject: BUS_SUBJECT,
          });
          return result.kind === 'refused'
            ? { kind: 'refused', problem: result.problem.body }
            : { kind: 'answered', body: result.body };
        },
        parse: (bytes) => parseJson(Buffer.from(bytes)),
        bodyMaxBytes: BODY_MAX_BYTES,
        problems: { malformed: problem('malformed_json').body, tooLarge: problem('body_too_large').body },
        deadLetters: log.deadLetters,
        digest: (kind, value) => digest(ring.newest.digests, kind, value),
        retryAfterMs: RETRY_AFTER_MS,
      }),
    });
  }

  async stop(): Promise<void> {
    await this.#inbox.stop();
    await this.#relaySide.stop();
    await this.#bus.close();
  }
}
