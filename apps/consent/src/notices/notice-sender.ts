import type { Agent } from 'undici';
import type { ClaimedNotice, NoticeTable } from '#domain/prompt/notice-table';
import { askedForMs, pauseMs, type TryRules } from '#domain/prompt/notice-tries';
import { Wake } from '#messaging/wake';
import type { Clock } from '#platform/clock';
import type { Receiver } from '#platform/notice-variables';
import { receiverAgent, type Sent, saysGone, sendNotice } from './send-notice.ts';

export interface NoticeSenderOptions {
  readonly receiver: Receiver;
  readonly table: Pick<NoticeTable, 'claim' | 'delivered' | 'failed' | 'release'>;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly chance: () => number;
  readonly tryRules: TryRules;
  readonly timeoutMs: number;
  readonly onSent: (notice: ClaimedNotice, sent: Sent) => void;
  /** The table could not be read or written: the sender goes on. */
  readonly onTrouble: (error: unknown) => void;
}

/** At once to one receiver, from one process. */
const IN_FLIGHT_MAX = 8;
/** What a claim lasts beyond the exchange itself: for writing down its outcome. */
const CLAIM_SLACK_MS = 5_000;
const POLL_MS = 500;
const TROUBLE_PAUSE_MS = 1_000;

/**
 * Sends what is due to one receiver, and holds nothing but what is being sent: the rest waits in the table, whatever
 * the receiver does. Each receiver has a sender of its own, so none waits for another. Killed between sending and
 * writing it down, the notice is sent again under the same id when its claim has run out.
 */
export class NoticeSender {
  readonly #options: NoticeSenderOptions;
  readonly #agent: Agent;
  readonly #wake = new Wake();
  readonly #stopping = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  #running: Promise<void> | null = null;

  constructor(options: NoticeSenderOptions) {
    this.#options = options;
    this.#agent = receiverAgent(options.timeoutMs);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Something may have become due. */
  wake(): void {
    this.#wake.ring();
  }

  /** Ends what is being sent, and gives it back: it is sent again by whoever is next. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake.ring();
    await this.#running;
    await Promise.all(this.#inFlight);
    await this.#agent.destroy();
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#takeDue();
        await this.#wake.wait(POLL_MS);
      } catch (error) {
        this.#options.onTrouble(error);
        await this.#wake.wait(TROUBLE_PAUSE_MS);
      }
    }
  }

  async #takeDue(): Promise<void> {
    const free = IN_FLIGHT_MAX - this.#inFlight.size;
    if (free <= 0) return;
    const { table, receiver, timeoutMs, clock } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const claimed = await table.claim(receiver.name, free, timeoutMs + CLAIM_SLACK_MS);
    for (const notice of claimed) {
      const sending = this.#deliver(notice, askedAtMs)
        .catch((error: unknown) => this.#options.onTrouble(error))
        .finally(() => {
          this.#inFlight.delete(sending);
          // The next one of its allocation may go now.
          this.#wake.ring();
        });
      this.#inFlight.add(sending);
    }
  }

  async #deliver(notice: ClaimedNotice, askedAtMs: number): Promise<void> {
    const { table, receiver, clock, timeoutMs } = this.#options;
    const { signal } = this.#stopping;
    // A process that stood still since it claimed may find that another one has sent this and what follows.
    if (clock.monotonicMs() - askedAtMs > CLAIM_SLACK_MS / 2 || signal.aborted) return table.release(notice);

    const sending = { dispatcher: this.#agent, timeoutMs, signal, now: clock.now() };
    const sent = await sendNotice(notice, receiver, sending).catch(() => null);
    if (sent === null) return table.release(notice);
    await this.#settle(notice, sent);
    this.#options.onSent(notice, sent);
  }

  async #settle(notice: ClaimedNotice, sent: Sent): Promise<void> {
    const { table, tryRules, chance } = this.#options;
    if (sent.outcome === 'delivered') return table.delivered(notice, sent.status);
    const { status = null, retryAfterS = null } = sent.outcome === 'refused' ? sent : {};
    return table.failed(notice, {
      outcome: sent.outcome,
      status,
      pauseMs: pauseMs(notice.tries, chance(), retryAfterS, tryRules),
      receiverPauseMs: askedForMs(retryAfterS),
      isGone: saysGone(sent),
    });
  }
}
