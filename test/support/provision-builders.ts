import type { IntentState } from '#domain/intent/intent-state';
import type { LaneFacts, LaneInstance, ProbeReading } from '#domain/provision/lane';
import { markOf } from '#domain/provision/marker';
import { type Listing, NO_WORK, type Step, type View, type Work } from '#domain/provision/step';
import type { DataOfType } from '#events/catalogue';
import type { Entry } from '#events/intent.events';
import { allocationStream } from '#events/streams';
import { at, digestOf } from './builders.ts';
import { gone, Story } from './watch-builders.ts';

export const STREAM = allocationStream(digestOf('ref'));
export const DEPLOYMENT = 'test';

/** 26 characters of base32 out of one letter. */
export const intentId = (letter: string): string => letter.repeat(26);

export const TERMINAL: LaneFacts = {
  lane: 'runpod',
  provider: 'runpod',
  kind: 'terminal',
  queueingPools: [],
  listingGraceMs: 30_000,
  createDeadlineMs: 0,
  idempotentCreate: false,
  startsWorkload: 'by_dispatch',
};
export const PRIMARY: LaneFacts = {
  ...TERMINAL,
  lane: 'gcp',
  provider: 'gcp',
  kind: 'primary',
  queueingPools: ['flex-start'],
  idempotentCreate: true,
  startsWorkload: 'by_create',
};
export const BATCH: LaneFacts = { ...PRIMARY, lane: 'slurm', provider: 'slurm', kind: 'batch' };
const FACTS = new Map([TERMINAL, PRIMARY, BATCH].map((facts) => [facts.lane, facts]));

/** A view at so many seconds; what a worker knows is added by `work`. */
export function viewAt(seconds: number, work: Partial<Work> = {}, change: Partial<View> = {}): View {
  return {
    stream: STREAM,
    name: 'train-7',
    now: at(seconds),
    rules: { deployment: DEPLOYMENT, observeOnly: false },
    laneFacts: (lane) => FACTS.get(lane) ?? null,
    mustLook: () => false,
    terminalRoom: true,
    work: { ...NO_WORK, fence: 1, ...work },
    ...change,
  };
}

/** A machine that carries the mark of an intent, as the lane's listing shows it. */
export function machine(id: string, intent: string, change: Partial<LaneInstance> = {}): LaneInstance {
  const { name, deployment, allocation } = markOf(DEPLOYMENT, STREAM, intent);
  return {
    id,
    name,
    marker: { deployment, allocation, intent },
    keep: false,
    state: 'running',
    pool: null,
    zone: null,
    createdAt: at(0),
    costPerHourUsd: 2,
    ...change,
  };
}

/** A person's machine: it carries nothing of ours. */
export function foreignMachine(id: string, change: Partial<LaneInstance> = {}): LaneInstance {
  return {
    ...machine(id, intentId('z')),
    name: 'train-7',
    marker: { deployment: null, allocation: null, intent: null },
    ...change,
  };
}

export const listed = (
  startedAtS: number,
  ...instances: readonly LaneInstance[]
): Readonly<Record<string, Listing>> => ({ runpod: { startedAt: at(startedAtS), instances } });

export const probed = (
  workload: ProbeReading['workload'],
  bootstrap: ProbeReading['bootstrap'] = 'complete',
  result: ProbeReading['result'] = null,
): ProbeReading => ({ workload, bootstrap, result });

/** An intent as it is right after it was recorded. */
export function intentRecorded(
  intent: string,
  entry: Entry = { kind: 'terminal' },
  change: Partial<DataOfType<'IntentRecorded'>> = {},
): { readonly type: 'IntentRecorded'; readonly data: DataOfType<'IntentRecorded'> } {
  const lane = entry.kind === 'terminal' ? 'runpod' : 'gcp';
  return {
    type: 'IntentRecorded',
    data: {
      intent,
      name: markOf(DEPLOYMENT, STREAM, intent).name,
      lane,
      entry,
      chain: entry.kind === 'terminal' ? 'terminal:X1' : `rung:walk:${entry.rung}:`,
      requestDigest: digestOf('request'),
      fence: 1,
      reaps: 0,
      replaces: null,
      ...change,
    },
  };
}

export const createSending = (
  intent: string,
  seconds: number,
  number = 1,
): { readonly type: 'CreateSending'; readonly data: DataOfType<'CreateSending'> } => ({
  type: 'CreateSending',
  data: { intent, sendNotAfter: at(seconds + 30), number },
});

export const createEnded = (
  intent: string,
  seconds: number,
  answer: DataOfType<'CreateEnded'>['answer'],
  change: Partial<DataOfType<'CreateEnded'>> = {},
): { readonly type: 'CreateEnded'; readonly data: DataOfType<'CreateEnded'> } => ({
  type: 'CreateEnded',
  data: {
    intent,
    answer,
    code: null,
    failureDigest: null,
    speaksOfShortage: false,
    endedAt: at(seconds),
    notBefore: null,
    ...change,
  },
});

export const instanceCreated = (
  intent: string,
  instance = 'P1',
): { readonly type: 'InstanceCreated'; readonly data: DataOfType<'InstanceCreated'> } => ({
  type: 'InstanceCreated',
  data: { intent, instance, pool: null, createdAt: null, costPerHourUsd: 2 },
});

/** A queued instance that vanished under `standing`: the move is decided at 300 s, nothing of it is done. */
export function vanished(): Story {
  const story = new Story();
  story.launch().placed(0);
  story.see({ ...gone(60), provider: 'queued' }, gone(300));
  return story;
}

/** The same, with its terminal intent open: recorded, nothing sent. */
export function withOpenIntent(intent = intentId('a')): Story {
  return vanished().add(300, intentRecorded(intent));
}

export function openIntent(story: Story): IntentState {
  const open = story.placement.intents.find(({ closed }) => closed === null);
  if (open === undefined) throw new Error('no intent is open');
  return open;
}

/** The types of what a step records. */
export function recordedBy(step: Step): readonly string[] {
  return step.do === 'append' ? step.facts.map(({ type }) => type) : [step.do];
}
