import { describe, expect, test } from 'vitest';
import type { DataOfType } from '#events/catalogue';
import { allocationStream } from '#events/streams';
import { digestOf, idOf } from '#support/builders';
import { gone, poll, RUNGS, Story, typesOf, works } from '#support/watch-builders';
import type { Fact } from '../fact.ts';
import { ownLeftovers, type Placement } from '../placement.ts';
import { placementRowOf } from '../placement-row.ts';
import type { LaneFacts, LaneInstance } from './lane.ts';
import { markOf } from './marker.ts';
import { nextStep } from './next-step.ts';
import { type Adoption, adoptRewound, type RewoundRefusal, releaseRewound } from './rewound.ts';
import { sightingsIn } from './sightings.ts';
import { NO_WORK, type View } from './step.ts';

const STREAM = allocationStream(digestOf('ref'));
const FORGOTTEN = idOf('forgotten');
const MARK = markOf('prod', STREAM, FORGOTTEN);

/** A restored log: the machine `P7` carries an intent that no event tells of. */
const rewind = (story: Story, lane = 'runpod') =>
  story.add(900, { type: 'LogRewound', data: { instance: 'P7', lane, intent: FORGOTTEN } });
const vanished = (failover: 'standing' | 'ask' = 'standing') => {
  const story = new Story().launch(failover).placed(0);
  story.see(poll(60, 'queued'), gone(300));
  return story;
};
const intent = (story: Story, change: Partial<DataOfType<'IntentRecorded'>> = {}) =>
  story.add(400, {
    type: 'IntentRecorded',
    data: {
      intent: idOf('open'),
      name: 'sw-open',
      lane: 'runpod',
      entry: { kind: 'terminal' },
      chain: 'terminal:X1',
      requestDigest: digestOf('request'),
      fence: 1,
      reaps: 0,
      replaces: null,
      ...change,
    },
  });

const adoption = (change: Partial<Adoption> = {}): Adoption => ({
  instance: null,
  rung: null,
  deployment: 'prod',
  stream: STREAM,
  by: 'local',
  ...change,
});
const adopt = (story: Story, change: Partial<Adoption> = {}) =>
  adoptRewound(story.standing, adoption(change));
const refusal = (answer: ReturnType<typeof adoptRewound>) => (answer.kind === 'refused' ? answer.why : null);

/** The facts, recorded; and the state after them. */
function adopted(story: Story, change: Partial<Adoption> = {}) {
  const answer = adopt(story, change);
  if (answer.kind !== 'decided') throw new Error(`refused: ${answer.why}`);
  const after = story.add(1_000, ...answer.facts).placement;
  return { facts: answer.facts, after };
}
const adoptionIn = (facts: readonly Fact[]) => {
  const fact = facts.find(({ type }) => type === 'RewoundAdopted');
  if (fact?.type !== 'RewoundAdopted') throw new Error('nothing was adopted');
  return fact.data;
};

const view = (work: View['work'] = NO_WORK): View => ({
  stream: STREAM,
  name: null,
  now: '2026-11-29T11:00:00.000Z',
  rules: { deployment: 'prod', observeOnly: false },
  laneFacts: () => null,
  mustLook: () => false,
  terminalRoom: true,
  work,
});
const P7: LaneInstance = {
  id: 'P7',
  name: MARK.name,
  marker: { deployment: MARK.deployment, allocation: MARK.allocation, intent: MARK.intent },
  keep: false,
  state: 'running',
  pool: null,
  zone: null,
  createdAt: null,
  costPerHourUsd: null,
};
const seen = (state: Placement) =>
  sightingsIn(state, 'runpod', { startedAt: '2026-11-29T11:00:00.000Z', instances: [P7] }, view());

describe('a machine that is released', () => {
  test('holds no create any more, and is never reported again', () => {
    const story = rewind(vanished());
    expect(nextStep(story.placement, view())).toEqual({ do: 'wait', why: 'log_rewound', until: null });
    const answer = releaseRewound(story.placement, { instance: 'P7', by: 'local' });
    expect(answer).toMatchObject({
      kind: 'decided',
      machine: { instance: 'P7', lane: 'runpod', intent: FORGOTTEN },
      facts: [{ type: 'RewindReleased', data: { instance: 'P7', releasedBy: 'local' } }],
    });
    const { placement } = story.add(1_000, ...(answer.kind === 'decided' ? answer.facts : []));
    expect(placement).toMatchObject({ rewound: null, released: ['P7'], current: 'X1' });
    expect(nextStep(placement, view())).toMatchObject({ do: 'open_intent', lane: 'runpod' });
    expect(seen(placement).facts).toEqual([]);
  });
  test('is refused where no machine holds it, and where another one was meant', () => {
    const word = { instance: 'P8', by: 'local' as const };
    expect(releaseRewound(vanished().placement, word)).toMatchObject({ why: 'nothing_rewound' });
    expect(releaseRewound(rewind(vanished()).placement, word)).toMatchObject({
      why: 'other_instance',
      machine: { instance: 'P7' },
    });
  });
});

describe('a terminal machine that is adopted', () => {
  test('completes the move that was under way, under its reason, with its stamp', () => {
    const { facts, after } = adopted(rewind(vanished()));
    expect(facts).toEqual([
      {
        type: 'RewoundAdopted',
        data: {
          instance: 'P7',
          lane: 'runpod',
          intent: FORGOTTEN,
          name: MARK.name,
          entry: { kind: 'terminal' },
          chain: 'terminal:X1',
          key: 'X1',
          leaves: null,
          adoptedBy: 'local',
          verdict: expect.objectContaining({
            outcome: 'running_on_terminal',
            reason: 'gcp_queue_vanish_failover_runpod',
            rule: '10.3 adopted_by_person',
            evidence: expect.objectContaining({ adopted: 'P7', adoptedLane: 'runpod', arm: 'seen' }),
          }),
        },
      },
    ]);
    expect(after).toMatchObject({
      outcome: 'running_on_terminal',
      current: 'P7',
      move: null,
      walk: null,
      rewound: null,
      stamps: ['X1'],
      instances: { P7: { kind: 'terminal', lane: 'runpod', rung: null, intent: FORGOTTEN } },
    });
  });
  test('is ours from then on: its intent is known and closed, and nothing is left to do', () => {
    const { after } = adopted(rewind(vanished()));
    expect(after.intents.at(-1)).toMatchObject({
      intent: FORGOTTEN,
      name: MARK.name,
      instance: 'P7',
      running: true,
      closed: 'completed',
    });
    expect(seen(after)).toEqual({ own: [], facts: [] });
    expect(ownLeftovers(after)).toEqual([]);
    expect(nextStep(after, view())).toEqual({ do: 'rest' });
    expect(placementRowOf(after)).toMatchObject({ instance: 'P7', needsWorker: false, bills: true });
  });
  test('leaves the instance of which nobody knows that it is gone with a cancel that is owed', () => {
    const story = new Story().launch().placed(0);
    story.see(works(60));
    const { facts, after } = adopted(rewind(story));
    expect(adoptionIn(facts)).toMatchObject({ key: 'X1', leaves: { instance: 'X1', lane: 'gcp' } });
    expect(adoptionIn(facts).verdict).toMatchObject({ reason: null, rule: '10.3 adopted_by_person' });
    expect(after).toMatchObject({ current: 'P7', stamps: ['X1'], cancelsOwed: { X1: 'gcp' } });
    expect(placementRowOf(after).needsWorker).toBe(true);
    const pass = { ...view({ ...NO_WORK, pass: true }), laneFacts: () => LANE };
    expect(nextStep(after, pass)).toMatchObject({ do: 'cancel', instance: 'X1', superseded: true });
    // An observation of the instance that is left behind moves nothing any more.
    expect(typesOf(story.see(gone(2_000)))).toEqual(['ObservationJudged']);
  });
  test('owes no cancel that was confirmed', () => {
    const story = new Story().launch().placed(0);
    story.add(100, { type: 'CancelConfirmed', data: { instance: 'X1' } });
    expect(adoptionIn(adopted(rewind(story)).facts).leaves).toBeNull();
  });
  test('withdraws the open question about the move, in the record too', () => {
    const story = rewind(vanished('ask'));
    expect(story.record.scalars.openQuestion).toMatchObject({ kind: 'failover' });
    const { facts, after } = adopted(story);
    expect(typesOf(facts)).toEqual(['FailoverVoided', 'RewoundAdopted']);
    expect(story.record.scalars.openQuestion).toBeNull();
    expect(after).toMatchObject({ outcome: 'running_on_terminal', current: 'P7', stamps: ['X1'] });
    // The loss in the queue stands: the rung is not booked again today.
    expect(after.queueLosses).toEqual({ flex_a: '2026-11-29' });
  });
  test('closes the intent that is open, whose machine is residue then', () => {
    const story = intent(vanished());
    story.add(410, {
      type: 'CreateSending',
      data: { intent: idOf('open'), sendNotAfter: '2026-11-29T10:07:20.000Z', number: 1 },
    });
    const { facts, after } = adopted(rewind(story));
    expect(facts[0]).toEqual({ type: 'IntentClosed', data: { intent: idOf('open'), why: 'voided' } });
    expect(after.intents.map(({ closed }) => closed)).toEqual(['voided', 'completed']);
  });
});

describe('a machine on a rung that is adopted', () => {
  test('is the placement, on the one rung of its lane', () => {
    const story = new Story().launch({ rungs: RUNGS.filter(({ id }) => id !== 'od_a') });
    const { facts, after } = adopted(rewind(story, 'gcp'));
    expect(adoptionIn(facts)).toMatchObject({
      entry: { kind: 'rung', rung: 'flex_a', zone: null },
      chain: `rung:${FORGOTTEN}:flex_a:`,
      key: null,
    });
    expect(after).toMatchObject({ outcome: 'placed_primary', current: 'P7', walk: null, stamps: [] });
    expect(after.instances.P7).toMatchObject({ kind: 'primary', rung: 'flex_a', queues: true });
    expect(after.intents.at(-1)).toMatchObject({ closed: 'placed', dispatches: 0, running: false });
  });
  test('of several on its lane is the one that the person names', () => {
    const { facts } = adopted(rewind(new Story().launch(), 'gcp'), { rung: 'od_a' });
    expect(adoptionIn(facts).entry).toEqual({ kind: 'rung', rung: 'od_a', zone: null });
  });
});

describe('an adoption that is refused changes nothing', () => {
  const rows: readonly (readonly [RewoundRefusal, () => Story, Partial<Adoption>])[] = [
    ['nothing_rewound', () => vanished(), {}],
    ['other_instance', () => rewind(vanished()), { instance: 'P8' }],
    ['no_launch', () => rewind(new Story()), {}],
    ['lane_not_in_plan', () => rewind(vanished(), 'nebius'), {}],
    ['several_rungs', () => rewind(vanished(), 'gcp'), {}],
    ['other_rung', () => rewind(vanished(), 'gcp'), { rung: 'batch_a' }],
    ['other_rung', () => rewind(vanished()), { rung: 'od_a' }],
    ['other_dispatch_open', () => rewind(dispatched()), {}],
  ];
  test.each(rows)('%s', (why, story, change) => {
    expect(refusal(adopt(story(), change))).toBe(why);
  });
});

function dispatched(): Story {
  const data = { intent: idOf('open'), instance: 'P1', number: 1 };
  return intent(vanished()).add(500, { type: 'DispatchSending', data });
}

const LANE: LaneFacts = {
  lane: 'gcp',
  provider: 'gcp',
  kind: 'primary',
  queueingPools: ['flex-start'],
  listingGraceMs: 30_000,
  createDeadlineMs: 30_000,
  idempotentCreate: true,
  startsWorkload: 'by_create',
};
