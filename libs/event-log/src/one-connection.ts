import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Client, type ClientConfig, DatabaseError, type QueryConfig, type QueryResultRow } from 'pg';

const GOODBYE_MS = 500;

/** The server did not answer in time. The connection is gone; what the statement did is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * One connection that is made when it is needed and given up after any doubt: a fault on the wire or no
 * answer in time. The next query makes a new one. Queries go one after the other.
 */
export class OneConnection {
  readonly #config: ClientConfig;
  readonly #onConnect: (client: Client) => Promise<void>;
  #live: { readonly client: Client; readonly socket: Duplex } | null = null;

  constructor(config: ClientConfig, onConnect: (client: Client) => Promise<void> = async () => {}) {
    this.#config = config;
    this.#onConnect = onConnect;
  }

  /** Rejects with NoAnswer after `timeoutMs`, connecting included, or with what the driver says. */
  async query<Row extends QueryResultRow>(query: QueryConfig, timeoutMs: number): Promise<readonly Row[]> {
    let timer: NodeJS.Timeout | undefined;
    const noAnswer = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        this.drop();
        reject(new NoAnswer(`no answer within ${Math.round(timeoutMs)} ms`));
      }, timeoutMs);
    });
    try {
      return await Promise.race([this.#ask<Row>(query), noAnswer]);
    } catch (error) {
      // The server's own ERROR leaves the session usable; everything else leaves it in an unknown state.
      if (!(error instanceof DatabaseError && error.severity === 'ERROR')) this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask<Row extends QueryResultRow>(query: QueryConfig): Promise<readonly Row[]> {
    const { client } = this.#live ?? (await this.#connect());
    return (await client.query<Row>(query)).rows;
  }

  async #connect(): Promise<{ readonly client: Client }> {
    const socket = this.#config.stream?.() ?? new Socket();
    const client = new Client({ ...this.#config, stream: () => socket });
    const live = { client, socket };
    this.#live = live;
    const forget = (): void => {
      if (this.#live === live) this.#live = null;
    };
    // Without a listener the loss of an idle connection would end the process.
    client.on('error', forget);
    client.on('end', forget);
    await client.connect();
    await this.#onConnect(client);
    return live;
  }

  /** Gives the connection up without waiting for the other side, which may never answer. */
  drop(): void {
    this.#live?.socket.destroy();
    this.#live = null;
  }

  /** Says goodbye to the server, and does not wait for one that takes none. */
  async end(): Promise<void> {
    const live = this.#live;
    this.#live = null;
    if (live === null) return;
    const late = setTimeout(() => live.socket.destroy(), GOODBYE_MS);
    await live.client.end().catch(() => {});
    clearTimeout(late);
  }
}
