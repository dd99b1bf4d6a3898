import type { Log } from './chain.ts';

export interface NatsOptions {
  /** Holds the streams, the configuration and the key they are encrypted with. One process at a time may use it. */
  readonly storeDir: string;
  /** A free one is chosen if it is not given. */
  readonly port?: number;
  /** Takes the place of the generated configuration; address, port and server name are ours all the same. */
  readonly configText?: string;
  /** A NATS that runs already: nothing is started. Else SPILLWAY_NATS_URL. */
  readonly url?: string;
  /** It will be killed and restarted, so SPILLWAY_NATS_URL is left aside. */
  readonly controllable?: boolean;
  /** What may be tried, in this order. Else SPILLWAY_NATS_SOURCES, else all. */
  readonly sources?: readonly NatsSource[];
  readonly log?: Log;
}

export type NatsSource = 'docker' | 'local' | 'download';

/** A NATS server with JetStream on loopback, and what may be done to it. A given one cannot be controlled. */
export interface RunningNats {
  readonly status: 'running';
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly source: 'given' | NatsSource;
  /** Undefined while it is down and where it is not ours. */
  pid(): number | undefined;
  /** Shuts down cleanly. Doing it twice is fine. */
  stop(): Promise<void>;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** Starts again over the same store on the same port, from whatever state it is in. */
  restart(): Promise<void>;
  /** SIGSTOP: connections stay open and nobody answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** No NATS can be had on this machine. Not an error: Spillway then runs on its log alone. */
export interface NatsUnavailable {
  readonly status: 'unavailable';
  /** Why, as a sentence without its full stop. */
  readonly reason: string;
  /** The command that helps. */
  readonly fix: string;
}
