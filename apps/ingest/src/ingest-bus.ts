import { LOCAL_SUBJECT } from '#domain/actor';
import { digest } from '#domain/digest';
import type { KeyRing } from '#domain/key-ring';
import type { Log } from '#domain/log-tables';
import { Answers } from '#messaging/answers';
import type { Bus } from '#messaging/connect-bus';
import { Inbox } from '#messaging/inbox';
import { inputHandler } from '#messaging/input-handler';
import type { LogTail } from '#messaging/log-tail';
import { type BusPlace, openBus } from '#messaging/open-bus';
import { RelaySide } from '#messaging/relay-side';
import type { InputName } from '#messaging/topology';
import type { BusReports } from '#platform/bus-reports';
import { BODY_MAX_BYTES, parseJson } from '#platform/http-server';
import { randomId } from '#platform/ids';
import type { Logger } from '#platform/logger';
import { problem } from '#platform/problem';
import { relayReports } from '#platform/relay-reports';
import type { CallResult } from './call-result.ts';
import type { MessageSent } from './launch-calls.ts';

/** The inputs that this app takes, each with its call. */
export type IngestCalls = Readonly<
  Record<Exclude<InputName, 'consent'>, (sent: MessageSent) => Promise<CallResult>>
>;

export interface IngestBusOptions extends BusPlace {
  readonly log: Log;
  readonly tail: LogTail;
  readonly ring: KeyRing;
  readonly calls: IngestCalls;
  readonly logger: Logger;
  readonly reports: BusReports;
}

const RETRY_AFTER_MS = 1_000;

/** What `ingest` does on the bus: takes `in.attempt`, `in.launch` and `in.observation`, and relays the log (design 6). */
export class IngestBus {
  readonly #bus: Bus;
  readonly #relaySide: RelaySide;
  readonly #inboxes: readonly Inbox[];

  constructor(options: IngestBusOptions) {
    const { log, tail, ring, calls, logger, reports } = options;
    const { bus, topology } = openBus(options, 'spillway-ingest', reports);
    this.#bus = bus;
    this.#relaySide = new RelaySide({
      bus,
      topology,
      log,
      tail,
      holder: randomId(),
      onStatus: relayReports(logger),
    });
    const answers = new Answers(bus, topology);
    const inbox = (name: keyof IngestCalls) =>
      new Inbox({
        bus,
        topology,
        app: 'ingest',
        name,
        answers,
        onTrouble: reports.onTrouble,
        onFailure: ({ failure, deliveries }) =>
          logger.warn('input_failed', { reason: failure, tries: deliveries }),
        handle: inputHandler({
          call: async ({ body, messageId, queue }) => {
            const result = await calls[name]({
              body,
              sentId: messageId,
              messageName: queue,
              // Every bus caller while the bus has no authentication (fallback 1.5).
              subject: LOCAL_SUBJECT,
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
    this.#inboxes = [inbox('attempt'), inbox('launch'), inbox('observation')];
  }

  /** What waits for NATS then gets no answer any more. */
  endWithin(ms: number): void {
    this.#bus.endWithin(ms);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#inboxes.map((inbox) => inbox.stop()), this.#relaySide.stop()]);
    await this.#bus.close();
  }
}
