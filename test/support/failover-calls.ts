import { expect } from 'vitest';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { at } from '../conformance/fallback-expect.ts';
import { type Body, textAt } from './calls.ts';
import type { System } from './running-apps.ts';

type Failover = Pick<System, 'calls' | 'cloud'>;

/** A queueing rung, an on-demand rung, and a terminal entry that the stand-in can serve. */
export const STAND_IN_LAUNCH = {
  plan: {
    rungs: [
      { id: 'flex_a', lane: 'gcp', pool: 'flex-start', machine: 'a3-highgpu-1g' },
      { id: 'od_a', lane: 'gcp', pool: 'on-demand', machine: 'a3-highgpu-1g' },
    ],
    terminal: { lane: 'runpod', gpu: { product: 'NVIDIA H100 80GB HBM3', count: 1 } },
  },
  workload: { command: 'run' },
  failover: 'standing',
} as const;

/** Launches an allocation and gives the place of its result. */
export async function launch({ calls }: Failover, name: string, change: Body = {}): Promise<string> {
  const reply = await calls.launch({ ...STAND_IN_LAUNCH, logical_allocation: name, ...change });
  expect([reply.status, reply.text]).toEqual([202, expect.any(String)]);
  return textAt(reply, 'location');
}

/** The latest decision of a launch, once it satisfies a condition. */
export async function resultWhere(
  { calls }: Failover,
  location: string,
  what: string,
  holds: (result: unknown) => boolean,
  boundMs = 60_000,
): Promise<unknown> {
  let last: unknown = null;
  await waitUntil(
    what,
    boundMs,
    async () => {
      last = (await calls.get(location)).json;
      return holds(last);
    },
    250,
  ).catch((error: unknown) => {
    throw new Error(`${what}: the last decision was ${JSON.stringify(last)}`, { cause: error });
  });
  return last;
}

export function outcomeIs(...outcomes: readonly string[]): (result: unknown) => boolean {
  return (result) => outcomes.includes(String(at(result, 'outcome')));
}

/** Polls as an outside poller reports them. */
export async function observe(
  { calls }: Failover,
  name: string,
  instance: string,
  change: Body,
): Promise<unknown> {
  const reply = await calls.observation({
    logical_allocation: name,
    instance,
    lane: 'gcp',
    observed_at: new Date().toISOString(),
    ...change,
  });
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
  return reply.json;
}
