import { Socket } from 'node:net';

/**
 * The connections of one log to its server, to be cut all at once: a server that is frozen takes no goodbye, and
 * whoever waits for its answers would wait beyond the end of a process.
 */
export class Wires {
  readonly #open = new Set<Socket>();
  #isCut = false;

  /** For the driver: the socket of a new connection. After the cut it fails as if nobody answered. */
  readonly stream = (): Socket => {
    const socket = new Socket();
    if (this.#isCut) setImmediate(() => socket.destroy(new Error('the log is closed')));
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    return socket;
  };

  /** Whatever waits for the server fails at once, now and from now on. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#open) socket.destroy();
  }
}
