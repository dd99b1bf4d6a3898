import { answers } from './chain.ts';
import type { RunningNats } from './running-nats.ts';

const ANSWER_BOUND_MS = 5_000;

/** Uses a NATS that runs already. One that does not answer is an error: no other takes its place. */
export async function givenNats(url: string): Promise<RunningNats> {
  if (!URL.canParse(url)) throw new Error('The URL given for NATS is not a URL.');
  const { hostname, port } = new URL(url);
  const host = hostname === '' ? '127.0.0.1' : hostname.replace(/^\[(.*)\]$/, '$1');
  const number = port === '' ? 4222 : Number(port);
  if (!(await answers(host, number, ANSWER_BOUND_MS))) {
    throw new Error(`The NATS given by URL does not answer at ${host}:${number}.`);
  }
  const refuse = async () => {
    throw new Error('A NATS given by URL is not ours to control.');
  };
  return {
    status: 'running',
    url,
    host,
    port: number,
    source: 'given',
    pid: () => undefined,
    stop: async () => {},
    kill: refuse,
    restart: refuse,
    freeze: refuse,
    thaw: refuse,
  };
}
