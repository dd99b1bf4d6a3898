import { LOCAL_SUBJECT } from '#domain/actor';
import { digest } from '#domain/digest';
import type { KeyRing } from '#domain/key-ring';
import type { Log } from '#domain/log-tables';
import { Answers } from '#messaging/answers';
import type { Bus } from '#messaging/connect-bus';
import { Inbox } from '#messaging/inbox';
import { inputHandler } from '#messaging/input-handler';
import { type BusPlace, openBus } from '#messaging/open-bus';
import { type Caller, SCOPES } from '#platform/auth';
import type { BusReports } from '#platform/bus-reports';
import { BODY_MAX_BYTES, parseJson } from '#platform/http-server';
import type { Logger } from '#platform/logger';
import { problem } from '#platform/problem';
import type { ConsentCalls } from './consent-calls.ts';

export interface ConsentBusOptions extends BusPlace {
  readonly log: Log;
  readonly ring: KeyRing;
  readonly calls: ConsentCalls;
  readonly logger: Logger;
  readonly reports: BusReports;
}

const RETRY_AFTER_MS = 1_000;
/** Bus callers while the bus has no authentication (fallback 1.5). */
const BUS_CALLER: Caller = { outcome: 'known', subject: LOCAL_SUBJECT, scopes: SCOPES };

/** What `consent` does on the bus: takes `in.consent` and answers (fallback 1.5). */
export class ConsentBus {
  readonly #bus: Bus;
  readonly #inbox: Inbox;

  constructor(options: ConsentBusOptions) {
    const { log, ring, calls, logger, reports } = options;
    const { bus, topology } = openBus(options, 'spillway-consent', reports);
    this.#bus = bus;
    this.#inbox = new Inbox({
      bus,
      topology,
      app: 'consent',
      name: 'consent',
      answers: new Answers(bus, topology),
      onTrouble: reports.onTrouble,
      onFailure: ({ failure, deliveries }) =>
        logger.warn('input_failed', { reason: failure, tries: deliveries }),
      handle: inputHandler({
        call: async ({ body, messageId, queue }) => {
          const result = await calls.consent({
            body,
            sentId: messageId,
            messageName: queue,
            caller: BUS_CALLER,
          });
          return result.kind === 'refused'
            ? { kind: 'refused', problem: result.problem.body }
            : { kind: 'answered', body: result.body };
        },
        parse: parseJson,
        bodyMaxBytes: BODY_MAX_BYTES,
        problems: { malformed: problem('malformed_json').body, tooLarge: problem('body_too_large').body },
        deadLetters: log.deadLetters,
        digest: (kind, value) => digest(ring.newest.digests, kind, value),
        retryAfterMs: RETRY_AFTER_MS,
      }),
    });
  }

  /** What waits for NATS then gets no answer any more. */
  endWithin(ms: number): void {
    this.#bus.endWithin(ms);
  }

  async stop(): Promise<void> {
    await this.#inbox.stop();
    await this.#bus.close();
  }
}
