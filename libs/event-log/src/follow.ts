import { type ClientConfig } from 'pg';
import type { LogFollower } from '#domain/log';
import { OneConnection } from './one-connection.ts';
import { safeInt } from './rows.ts';

export interface FollowOptions {
  readonly config: ClientConfig;
  readonly pollIntervalMs: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Told of each fault; following goes on whatever it is. */
  readonly onFault: (fault: unknown) => void;
}

/** A poll without an answer for so long is a dead connection. */
const ANSWER_TIMEOUT_MS = 2_000;
const LISTEN = 'listen spillway_log';
const LONGEST_BACK_OFF_MS = 1_000;

/**
 * Follows the head by NOTIFY on a connection of its own, and by polling all the while: a notice may be lost
 * with the connection that would have brought it. It never gives up; readiness asks `lastReadAgeMs`.
 */
export class HeadFollower implements LogFollower {
  readonly #options: FollowOptions;
  readonly #connection: OneConnection;
  readonly #listeners = new Set<(pos: number) => void>();
  #head = 0;
  #lastReadAt = Number.NEGATIVE_INFINITY;
  #readOnly = false;
  #running: Promise<void> | null = null;
  #wake: () => void = () => {};

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#connection = new OneConnection(options.config, async (client) => {
      client.on('notification', ({ payload }) => this.#advance(safeInt(payload ?? '0')));
      if (this.#listeners.size > 0) await client.query(LISTEN);
    });
  }

  follow(onHead: (pos: number) => void): () => void {
    // A listener of its own each time, so that following twice with one function ends separately.
    const listener = (pos: number): void => onHead(pos);
    this.#listeners.add(listener);
    // A process that follows nothing is not woken by each append of the others. Lost with its connection,
    // the listening comes back with the next one.
    if (this.#listeners.size === 1)
      this.#connection.query({ text: LISTEN }, ANSWER_TIMEOUT_MS).catch(this.#options.onFault);
    if (this.#head > 0) this.#tell(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Milliseconds since the head was last read with success; Infinity before the first time. */
  lastReadAgeMs(): number {
    return this.#options.now() - this.#lastReadAt;
  }

  /** True while the server, when it was last read, took no writes: set to read-only, or a standby. */
  get readOnly(): boolean {
    return this.#readOnly;
  }

  start(): void {
    this.#running ??= this.#poll();
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    this.#wake();
    await running;
    await this.#connection.end();
  }

  async #poll(): Promise<void> {
    const { pollIntervalMs, onFault } = this.#options;
    let waitMs = pollIntervalMs;
    // The loop ends when stop() has taken `#running` away; its first turn comes before start() has set it.
    do {
      try {
        await this.#readHead();
        waitMs = pollIntervalMs;
      } catch (fault) {
        onFault(fault);
        waitMs = Math.min(waitMs * 2, Math.max(LONGEST_BACK_OFF_MS, pollIntervalMs));
      }
      await this.#sleep(waitMs);
    } while (this.#running !== null);
  }

  async #readHead(): Promise<void> {
    const [row] = await this.#connection.query<{ pos: string; read_only: boolean }>(
      {
        name: 'head-pos',
        text: `
          select coalesce((select pos from spillway.event order by pos desc limit 1), 0) as pos,
                 current_setting('transaction_read_only') = 'on' as read_only`,
      },
      ANSWER_TIMEOUT_MS,
    );
    this.#lastReadAt = this.#options.now();
    this.#readOnly = row?.read_only ?? false;
    this.#advance(safeInt(row?.pos ?? '0'));
  }

  #advance(pos: number): void {
    if (pos <= this.#head) return;
    this.#head = pos;
    for (const listener of this.#listeners) this.#tell(listener);
  }

  #tell(listener: (pos: number) => void): void {
    try {
      listener(this.#head);
    } catch (fault) {
      this.#options.onFault(fault);
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
