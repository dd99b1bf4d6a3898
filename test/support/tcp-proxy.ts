import { connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * A TCP proxy that does to a connection what networks do: cut it, freeze it, delay it, or lose an answer
 * after the server has acted.
 */
export class TcpProxy {
  /** Each chunk waits so long in each direction. */
  delayMs = 0;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  readonly #held: (() => void)[] = [];
  #frozen = false;
  #refusing = false;
  #onReply: (() => void) | null = null;

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#server = createServer((client) => this.#accept(client, target));
  }

  static async to(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** A proxy in front of the server that a URL names. */
  static async before(url: string): Promise<{ readonly proxy: TcpProxy; readonly url: string }> {
    const target = new URL(url);
    const proxy = await TcpProxy.to({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    return { proxy, url: target.href };
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
    return address.port;
  }

  /** Ends every connection at once, without a goodbye. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  /** Cuts, and refuses new connections until `allow`. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  allow(): void {
    this.#refusing = false;
  }

  /** Nothing passes any more, in either direction, and no side is told. */
  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    this.#frozen = false;
    for (const pass of this.#held.splice(0)) pass();
  }

  /** The server gets the next request and acts on it; its answer is lost with the connections. Resolves then. */
  loseNextReply(): Promise<void> {
    return new Promise((resolve) => {
      this.#onReply = resolve;
    });
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(client: Socket, target: { readonly host: string; readonly port: number }): void {
    if (this.#refusing) {
      client.destroy();
      return;
    }
    const server = connect(target);
    const pair = { client, server };
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);

    client.on('data', (chunk) => this.#pass(() => server.write(chunk)));
    server.on('data', (chunk) => {
      const lost = this.#onReply;
      if (lost !== null) {
        this.#onReply = null;
        this.cut();
        lost();
        return;
      }
      this.#pass(() => client.write(chunk));
    });
  }

  #pass(write: () => void): void {
    if (this.#frozen) this.#held.push(write);
    else if (this.delayMs > 0) setTimeout(write, this.delayMs);
    else write();
  }
}
