import { connect } from 'node:net';

export interface RawReply {
  readonly status: number;
  /** Head of the answer, in lower case. */
  readonly head: string;
  readonly text: string;
}

/** Sends bytes as they are, which `fetch` would not, and reads until the server ends the connection. */
export function rawCall(url: string, request: string): Promise<RawReply> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const parts: string[] = [];
    const socket = connect(Number(port), hostname);
    socket.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    socket.once('error', reject);
    socket.once('end', () => {
      const [head = '', text = ''] = parts.join('').split('\r\n\r\n', 2);
      resolve({ status: Number(head.split(' ')[1]), head: head.toLowerCase(), text });
      socket.destroy();
    });
    socket.write(request);
  });
}

/** A request by a program that names the host itself, and wants no second one on the connection. */
export function getUnder(host: string, path: string, more = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n${more}\r\n`;
}
