import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { BusDown } from './bus-error.ts';
import { atMost } from './slots.ts';
import { BackOff, Wake } from './wake.ts';

export interface BusOptions {
  /** `nats://host:port`, or `tls://`; a user and password may stand in the URL. */
  readonly servers: readonly string[];
  /** Shown by the broker's monitoring. */
  readonly clientName: string;
  /** Subject prefix of our reply subjects, where a bus user may use no other; default `_INBOX`. */
  readonly inboxPrefix?: string;
  readonly connectTimeoutMs?: number;
  /** Of one request to the broker's API. */
  readonly requestTimeoutMs?: number;
  readonly retryMinMs?: number;
  readonly retryMaxMs?: number;
  /** Two missed answers in a row end the connection: a frozen broker keeps its socket open. */
  readonly pingIntervalMs?: number;
  /** Told the class of what went wrong, never its text. */
  readonly onTrouble?: (errorName: string) => void;
}

/**
 * A connection that is kept up in the background, endlessly. Nothing here throws later or stops an app: a
 * broker that is down is a `connected` of false, and messages of callers wait until it is back (design 2).
 */
export class Bus {
  #connection: NatsConnection | null = null;
  #manager: JetStreamManager | null = null;
  #up = false;
  #epoch = 0;
  #closing = false;
  readonly #listeners = new Set<(connected: boolean) => void>();
  readonly #wake = new Wake();
  readonly #running: Promise<void>;
  #cutTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: BusOptions) {
    this.#running = this.#keepConnected();
  }

  get connected(): boolean {
    return this.#up;
  }

  /** Grows with every connect and reconnect: what was learnt in an older epoch must be looked at again. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Throws BusDown while there is no connection. */
  connection(): NatsConnection {
    if (!this.#up || this.#connection === null) throw new BusDown('no connection to NATS');
    return this.#connection;
  }

  /** The broker's API. Throws BusDown while there is no connection. */
  manager(): JetStreamManager {
    this.connection();
    if (this.#manager === null) throw new BusDown('no connection to NATS');
    return this.#manager;
  }

  get inboxPrefix(): string {
    return this.options.inboxPrefix ?? '_INBOX';
  }

  /** Calls back on every change of `connected`. Returns the end of it. */
  onState(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * From so long after now on nothing waits for the broker: of one that is frozen that is found out too late for a
   * process that ends. What is not acknowledged by then comes again.
   */
  endWithin(ms: number): void {
    this.#cutTimer ??= setTimeout(() => {
      this.#closing = true;
      this.#wake.ring();
      void this.#connection?.close().catch(() => {});
    }, ms);
  }

  /** Sends what is buffered, at most for `drainMs`, and closes for good. */
  async close(drainMs = 2_000): Promise<void> {
    this.#closing = true;
    this.#wake.ring();
    const connection = this.#connection;
    if (connection !== null && !connection.isClosed()) {
      // Draining waits for the broker; of a broker that is gone it would wait for ever.
      const drained = this.#up ? connection.drain().catch(() => {}) : Promise.resolve();
      await atMost(drained, drainMs);
      await atMost(
        connection.close().catch(() => {}),
        drainMs,
      );
    }
    await this.#running;
    clearTimeout(this.#cutTimer);
  }

  async #keepConnected(): Promise<void> {
    const backOff = new BackOff(this.options.retryMinMs ?? 100, this.options.retryMaxMs ?? 5_000);
    while (!this.#closing) {
      const connection = await this.#connectOnce();
      if (connection !== null) {
        backOff.reset();
        await this.#serve(connection);
      }
      if (!this.#closing) await this.#wake.wait(backOff.nextMs());
    }
  }

  async #connectOnce(): Promise<NatsConnection | null> {
    try {
      const connection = await connect(connectionOptions(this.options));
      if (!this.#closing) return connection;

      await connection.close();
    } catch (error) {
      this.options.onTrouble?.(nameOf(error));
    }
    return null;
  }

  /** Until the connection is closed for good, which only `close` does, or a broker that turns us away. */
  async #serve(connection: NatsConnection): Promise<void> {
    this.#connection = connection;
    // The client reconnects by itself; one that has not managed to for so long gets a successor.
    let downSinceMs = performance.now();
    const watch = setInterval(() => {
      if (this.#up) downSinceMs = performance.now();
      else if (performance.now() - downSinceMs > GIVE_UP_AFTER_MS) void connection.close().catch(() => {});
    }, WATCH_EVERY_MS);
    try {
      this.#manager = await jetstreamManager(connection, {
        checkAPI: false,
        timeout: this.options.requestTimeoutMs ?? 2_000,
      });
      this.#set(true);
      for await (const status of connection.status()) {
        if (status.type === 'disconnect' || status.type === 'close') this.#set(false);
        else if (status.type === 'reconnect') this.#set(true);
        else if (status.type === 'error') this.options.onTrouble?.(nameOf(status.error));
        if (status.type === 'close') break;
      }
    } catch (error) {
      this.options.onTrouble?.(nameOf(error));
    }
    clearInterval(watch);
    this.#set(false);
    await atMost(
      connection.close().catch(() => {}),
      1_000,
    );
  }

  #set(up: boolean): void {
    if (up) this.#epoch += 1;
    if (up === this.#up) return;

    this.#up = up;
    for (const listener of this.#listeners) listener(up);
  }
}

const WATCH_EVERY_MS = 1_000;
const GIVE_UP_AFTER_MS = 15_000;

/** Starts connecting and returns at once, whether NATS is there or not. */
export function connectBus(options: BusOptions): Bus {
  return new Bus(options);
}

function connectionOptions(options: BusOptions): NodeConnectionOptions {
  const urls = options.servers.map((server) => new URL(server.includes('://') ? server : `nats://${server}`));
  const user = urls[0]?.username ?? '';
  return {
    servers: urls.map((url) => `${url.hostname}:${url.port === '' ? '4222' : url.port}`),
    name: options.clientName,
    ...(user === ''
      ? {}
      : { user: decodeURIComponent(user), pass: decodeURIComponent(urls[0]?.password ?? '') }),
    ...(urls.some((url) => url.protocol === 'tls:') ? { tls: {} } : {}),
    ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
    timeout: options.connectTimeoutMs ?? 2_000,
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: options.retryMinMs ?? 100,
    reconnectJitter: 100,
    pingInterval: options.pingIntervalMs ?? 2_000,
    maxPingOut: 2,
    // Credentials are changed while a service runs: being refused twice must not end the connection.
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true,
  };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
