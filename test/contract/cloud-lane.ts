import type { CreateRequest, Lane } from '#domain/provision/lane';
import { configuredLanes, LanesConfig } from '../../apps/provisioner/src/lanes/configured-lanes.ts';
import { liveOwn } from '../cloud/ledger-report.ts';
import type { CloudLane, StepInput } from '../cloud/scripts.ts';
import { standInLanes } from '../cloud/stand-in-lanes.ts';
import { type RunningCloud, startCloud } from '../cloud/start-cloud.ts';
import type { LaneUnderTest, Stranger, Trouble } from './lane-under-test.ts';

export interface CloudLaneOptions {
  readonly cloudLane: CloudLane;
  readonly request: CreateRequest;
  /** Troubles that this provider words in another way than the others. */
  readonly steps?: Partial<Record<Trouble, StepInput>>;
  /** The stand-in's own id of an instance. */
  readonly cloudIdOf?: (id: string) => string;
  /** The lane's id of an instance of which the stand-in has given its own. */
  readonly laneIdOf?: (id: string, name: string) => string;
  /** Labels or env of a stranger. */
  readonly labelsOf: (stranger: Stranger) => Readonly<Record<string, string>>;
}

/** Long enough for a busy machine to answer an ordinary call. */
const DEADLINE_MS = 10_000;
/** Short, so that a call that is never answered costs a test little. */
export const HASTY_MS = 400;
const NOBODY_LISTENS = 'http://127.0.0.1:1';

const STEPS: Readonly<Record<Trouble, StepInput>> = {
  capacity: { answer: 'capacity' },
  quota: { answer: 'quota' },
  rejected: { answer: 'rejected' },
  auth: { answer: 'auth' },
  rate_limited: { answer: 'rate_limited' },
  error: { answer: 'error' },
  error_but_done: { answer: 'error', effect: 'done' },
  unavailable: { answer: 'unavailable' },
  hang: { answer: 'hang' },
  hang_but_done: { answer: 'hang', effect: 'done' },
  reset: { answer: 'reset' },
  reset_but_done: { answer: 'reset', effect: 'done' },
  html: { answer: 'html' },
  garbage: { answer: 'garbage' },
  wrong_shape: { answer: 'wrong_shape' },
  partial: { answer: 'partial' },
  said_done_but_not: { answer: 'ok', effect: 'none' },
  not_found: { answer: 'not_found' },
};

/** A driver before its own stand-in cloud, both real HTTP. */
export async function cloudLane(
  options: CloudLaneOptions,
): Promise<LaneUnderTest & { readonly cloud: RunningCloud }> {
  const cloud = await startCloud();
  const { client } = cloud;
  const { cloudLane: lane, cloudIdOf = itself, laneIdOf = itself } = options;
  return {
    cloud,
    lane: laneAt(lane, cloud.url),
    hasty: laneAt(lane, cloud.url, HASTY_MS),
    request: options.request,
    trouble: async (call, trouble, retryAfterS) => {
      if (trouble === null) return client.script(lane, call);
      const step = options.steps?.[trouble] ?? STEPS[trouble];
      await client.script(lane, call, { ...step, ...(retryAfterS === undefined ? {} : { retryAfterS }) });
    },
    madeOf: async (intent) => {
      const { creates } = await client.ledger();
      return creates.filter((line) => line.intent === intent).length;
    },
    liveOf: async (intent) =>
      liveOwn(await client.ledger()).filter(
        ({ mark, state }) => mark.intent === intent && state !== 'stopped',
      ).length,
    creates: async () => (await client.ledger()).calls[`${lane} create`] ?? 0,
    addStranger: async (stranger) => {
      const id = await client.addForeign({ lane, name: stranger.name, labels: options.labelsOf(stranger) });
      return laneIdOf(id, stranger.name);
    },
    stop: (id) => client.change(cloudIdOf(id), { state: 'stopped' }),
    unreachable: () => laneAt(lane, NOBODY_LISTENS),
    lag: (seconds) => client.behave({ lane, listLagS: seconds, getLagS: seconds }),
    close: () => cloud.close(),
  };
}

const itself = (id: string): string => id;

/** A lane of the stand-in at `url`, with these deadlines. */
export function laneAt(name: string, url: string, deadlineMs: number = DEADLINE_MS): Lane {
  const configs = LanesConfig.parse(
    JSON.parse(standInLanes(url, { createDeadlineMs: deadlineMs, readDeadlineMs: deadlineMs })),
  );
  const lane = configuredLanes(configs).get(name);
  if (lane === undefined) throw new Error(`the stand-in has no lane ${name}`);
  return lane;
}
