import type { Log } from './chain.ts';

export interface PostgresOptions {
  /** Holds the data and everything beside it; made if it is not there. One process at a time may use it. */
  readonly dataDir: string;
  /** A free one is chosen if it is not given. */
  readonly port?: number;
  /** A PostgreSQL that runs already: nothing is started. Else SPILLWAY_POSTGRES_URL. */
  readonly url?: string;
  /** It will be killed and restarted, so SPILLWAY_POSTGRES_URL is left aside. */
  readonly controllable?: boolean;
  /** What may be tried, in this order. Else SPILLWAY_POSTGRES_SOURCES, else all. */
  readonly sources?: readonly PostgresSource[];
  /** New data need not outlive the machine, only its processes: spares writing 40 MB through to the disk. */
  readonly throwaway?: boolean;
  /** Lines for postgresql.conf, stronger than ours; a test of start-up checks may need `fsync: 'off'`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log?: Log;
}

export type PostgresSource = 'docker' | 'local' | 'embedded';

/** A PostgreSQL on loopback, and what may be done to it. A given one is only used: it cannot be controlled. */
export interface RunningPostgres {
  /** Superuser URL of the database `postgres`. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly superuser: string;
  readonly source: 'given' | PostgresSource;
  /** The postmaster; undefined while it is down and where it is not ours. */
  pid(): number | undefined;
  /** Fast shutdown; open connections are cut, what was acknowledged is kept. Doing it twice is fine. */
  stop(): Promise<void>;
  /** Kills the postmaster and all its children at once, as a lost machine would, and waits until they are gone. */
  kill(): Promise<void>;
  /** Starts again over the same data on the same port, from whatever state it is in. */
  restart(): Promise<void>;
  /** Freezes all its processes: connections stay open and nobody answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}
