import type { LogFollower, LogReader } from '#domain/log';
import { LogUnavailable } from '#domain/log';
import type { ClaimedNotice, NoticeTable } from '#domain/prompt/notice-table';
import { Wake } from '#messaging/wake';
import type { Clock } from '#platform/clock';
import { every } from '#platform/every';
import { chance } from '#platform/ids';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';
import type { Receiver } from '#platform/notice-variables';
import { NoticeFeed } from './notice-feed.ts';
import { type NoticeMetrics, noticeMetrics } from './notice-metrics.ts';
import { NoticeSender } from './notice-sender.ts';
import type { Sent } from './send-notice.ts';

/** The part of the configuration that notices need, as `ConsentConfig` reads it. */
export interface NoticeConfig {
  readonly SPILLWAY_PUBLIC_URL: string;
  readonly SPILLWAY_NOTICE_BEFORE_EXPIRY_S: number;
  readonly SPILLWAY_NOTICE_TIMEOUT_MS: number;
  readonly SPILLWAY_NOTICE_FIRST_PAUSE_MS: number;
  readonly SPILLWAY_NOTICE_LONGEST_PAUSE_S: number;
  readonly SPILLWAY_NOTICE_GIVE_UP_S: number;
}

export interface NoticesOptions {
  readonly log: LogReader & LogFollower & { readonly notices: NoticeTable };
  readonly receivers: readonly Receiver[];
  readonly config: NoticeConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A receiver may ask about what it got lately; what failed stays long enough to be sent by hand. */
const KEPT = { delivered: 7 * DAY_MS, failed: 90 * DAY_MS } as const;
const DROPPED_MAX = 1_000;
const DROP_EVERY_MS = 60_000;
const MEASURE_EVERY_MS = 5_000;
/** The log is looked at this often also without news of it: a receiver may have come back. */
const FEED_POLL_MS = 1_000;

/**
 * Outgoing notices of one `consent` process: one feed from the log into the table, one sender a receiver out of it.
 * The log is their only source, so what happens while no process runs is told later.
 */
export class Notices {
  readonly #options: NoticesOptions;
  readonly #feed: NoticeFeed;
  readonly #senders: readonly NoticeSender[];
  readonly #measures: NoticeMetrics;
  readonly #wake = new Wake();
  readonly #ends: (() => unknown)[] = [];
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: NoticesOptions) {
    const { log, receivers, config, clock, logger, metrics } = options;
    this.#options = options;
    this.#measures = noticeMetrics(
      metrics,
      receivers.map(({ name }) => name),
    );
    this.#feed = new NoticeFeed({
      log,
      table: log.notices,
      receivers,
      rules: {
        publicUrl: config.SPILLWAY_PUBLIC_URL,
        beforeExpiryS: config.SPILLWAY_NOTICE_BEFORE_EXPIRY_S,
      },
      giveUpMs: config.SPILLWAY_NOTICE_GIVE_UP_S * 1_000,
      onUnreadable: (pos) => logger.error('notice_event_unreadable', { pos }),
    });
    this.#senders = receivers.map(
      (receiver) =>
        new NoticeSender({
          receiver,
          table: log.notices,
          clock,
          chance,
          tryRules: {
            firstPauseMs: config.SPILLWAY_NOTICE_FIRST_PAUSE_MS,
            longestPauseMs: config.SPILLWAY_NOTICE_LONGEST_PAUSE_S * 1_000,
          },
          timeoutMs: config.SPILLWAY_NOTICE_TIMEOUT_MS,
          onSent: (notice, sent) => this.#sent(notice, sent),
          onTrouble: (error) => logger.warn('notice_table_failed', { receiver: receiver.name }, error),
        }),
    );
  }

  /** Enters the receivers and begins. A log that takes no writes now is tried again later, and keeps nobody from starting. */
  async start(): Promise<void> {
    this.#running = (await this.#entered()) ? this.#begin() : this.#beginLater();
  }

  /** False when the log cannot take it now. */
  async #entered(): Promise<boolean> {
    const { log, receivers, logger } = this.#options;
    try {
      await log.notices.syncReceivers(receivers.map(({ name }) => name));
      if (receivers.length > 0) await log.notices.backToHead();
      return true;
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      logger.warn('notice_table_failed', {}, error);
      return false;
    }
  }

  async #beginLater(): Promise<void> {
    while (!this.#stopped) {
      await this.#wake.wait(FEED_POLL_MS);
      if (!this.#stopped && (await this.#entered())) return this.#begin();
    }
  }

  /** Until it is stopped. */
  async #begin(): Promise<void> {
    const { log, receivers, logger } = this.#options;
    if (receivers.length === 0 || this.#stopped) return;
    const onError = (error: unknown) => logger.warn('notice_table_failed', {}, error);
    this.#ends.push(
      log.follow(() => this.#wake.ring()),
      every(MEASURE_EVERY_MS, () => this.#measure(), onError),
      every(DROP_EVERY_MS, () => log.notices.dropSettled(KEPT, DROPPED_MAX), onError),
    );
    for (const sender of this.#senders) sender.start();
    await this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#feed.stop();
    this.#wake.ring();
    await Promise.all(this.#ends.map((end) => end()));
    await this.#running;
    await Promise.all(this.#senders.map((sender) => sender.stop()));
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        if (await this.#feed.catchUp()) for (const sender of this.#senders) sender.wake();
      } catch (error) {
        this.#options.logger.warn('notice_feed_failed', {}, error);
      }
      await this.#wake.wait(FEED_POLL_MS);
    }
  }

  async #measure(): Promise<void> {
    this.#measures.standing(await this.#options.log.notices.standing());
  }

  #sent({ receiver, tries }: ClaimedNotice, sent: Sent): void {
    const { logger } = this.#options;
    const { outcome } = sent;
    this.#measures.tried(receiver, outcome);
    if (outcome === 'delivered') {
      logger.debug('notice_delivered', { receiver, tries });
      return;
    }
    const status = 'status' in sent ? { status: sent.status } : {};
    logger.warn('notice_not_taken', { receiver, tries, outcome, ...status });
  }
}
