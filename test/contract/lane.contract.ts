import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LaneFailureKind } from '#domain/provision/lane';
import { CATALOGUE } from '#events/catalogue';
import { LANE_FAILURES } from '#events/plan';
import { randomId } from '#platform/ids';
import { createOn, freshMark, type LaneUnderTest, type Stranger, type Trouble } from './lane-under-test.ts';

const CREATE_DEADLINE_MAX_MS = 30_000;

/**
 * What every lane promises (providers 1), over its real wire. `cannotPlay` names the troubles that this lane's
 * world has not: their cases are left out.
 */
export function laneContract(open: () => Promise<LaneUnderTest>, cannotPlay: readonly Trouble[] = []): void {
  const plays: Plays = (trouble) => !cannotPlay.includes(trouble);
  let opened: LaneUnderTest | null = null;
  const current = (): LaneUnderTest => {
    if (opened === null) throw new Error('the lane is open from the first hook on');
    return opened;
  };
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened?.close());
  beforeEach(async () => {
    for (const call of ['create', 'list', 'get', 'terminate', 'probe_lane'] as const) {
      await current().trouble(call, null);
    }
    await current().lag(0);
  });

  factsOfLane(current);
  createsOfLane(current, plays);
  failedCreatesOfLane(current, plays);
  listingsOfLane(current, plays);
  readsOfLane(current, plays);
  endsOfLane(current, plays);
}

/** A call that is never answered need not be waited for long. */
const laneFor = (under: LaneUnderTest, trouble: Trouble) =>
  trouble.startsWith('hang') ? under.hasty : under.lane;

type Plays = (trouble: Trouble) => boolean;
const played = <Row extends { readonly trouble: Trouble }>(rows: readonly Row[], plays: Plays) =>
  rows.filter(({ trouble }) => plays(trouble));

function factsOfLane(current: () => LaneUnderTest): void {
  test('a create deadline and the send limit fit into one lease (1.9)', () => {
    const { facts } = current().lane;
    expect(facts.createDeadlineMs).toBeLessThanOrEqual(CREATE_DEADLINE_MAX_MS);
    expect(facts.listingGraceMs).toBeGreaterThanOrEqual(0);
  });

  test('an ordinary rung is open', async () => {
    const { lane, request } = current();
    expect(await lane.probeLane(request)).toEqual({ kind: 'ok', value: 'open' });
  });

  test('asking whether a rung is open makes nothing', async () => {
    const { lane, request, creates } = current();
    const before = await creates();
    await lane.probeLane(request);
    expect(await creates()).toBe(before);
  });
}

function createsOfLane(current: () => LaneUnderTest, plays: Plays): void {
  test('the marker travels in the create itself: it is there however the answer ends (1.7)', async () => {
    const mark = freshMark();
    const made = await createOn(current(), mark);
    expect(made).toMatchObject({
      name: mark.name,
      marker: { deployment: mark.deployment, allocation: mark.allocation, intent: mark.intent },
      keep: false,
    });
    const listed = await listedOf(current(), made.id);
    expect(listed).toMatchObject({ name: mark.name, marker: made.marker, keep: false });
  });

  test('what a create and a listing tell of a machine can be recorded as it is', async () => {
    const made = await createOn(current(), freshMark());
    const listed = await listedOf(current(), made.id);
    for (const told of [made, listed]) {
      const { id: instance, pool, createdAt, costPerHourUsd } = told ?? {};
      const data = { intent: randomId(), instance, pool, createdAt, costPerHourUsd };
      expect(CATALOGUE.InstanceCreated.data.parse(data)).toEqual(data);
    }
  });

  test('pitfall 31: a failed create is sent once and never again by the driver', async () => {
    const under = current();
    for (const trouble of ONCE_ONLY.filter(plays)) {
      await under.trouble('create', trouble);
      const before = await under.creates();
      await laneFor(under, trouble).create(freshMark(), under.request);
      expect((await under.creates()) - before, trouble).toBe(1);
    }
  });

  test('what is promised of a repeated create of the same intent holds', async () => {
    const under = current();
    const mark = freshMark();
    const first = await createOn(under, mark);
    const second = await under.lane.create(mark, under.request);
    if (!under.lane.facts.idempotentCreate) {
      expect(await under.madeOf(mark.intent)).toBe(2);
      return;
    }
    expect(await under.madeOf(mark.intent)).toBe(1);
    const found = second.kind === 'created' || second.kind === 'name_conflict' ? second.instance : null;
    expect(found).toMatchObject({ id: first.id, marker: { intent: mark.intent } });
  });

  test('ten creates at once are ten instances, each with its own marker', async () => {
    const under = current();
    const marks = Array.from({ length: 10 }, () => freshMark());
    const made = await Promise.all(marks.map((mark) => createOn(under, mark)));
    expect(made.map(({ marker }) => marker.intent)).toEqual(marks.map(({ intent }) => intent));
    expect(new Set(made.map(({ id }) => id)).size).toBe(10);
  });
}

const ONCE_ONLY: readonly Trouble[] = ['error', 'unavailable', 'reset', 'hang', 'rate_limited', 'capacity'];

interface FailedCreate {
  readonly trouble: Trouble;
  readonly kind: LaneFailureKind;
  readonly made: 0 | 1;
  readonly reason: string;
}

const FAILED_CREATES: readonly FailedCreate[] = [
  { trouble: 'capacity', kind: 'capacity', made: 0, reason: 'the provider says that there is no room' },
  { trouble: 'quota', kind: 'quota', made: 0, reason: 'the provider says that the quota is used up' },
  { trouble: 'rejected', kind: 'rejected', made: 0, reason: 'a broken rule is nobody’s shortage' },
  { trouble: 'auth', kind: 'auth', made: 0, reason: 'the credential is refused' },
  { trouble: 'rate_limited', kind: 'rate_limited', made: 0, reason: 'too fast is not too full' },
  { trouble: 'error', kind: 'outcome_unknown', made: 0, reason: 'a 500 says nothing about the machine' },
  {
    trouble: 'error_but_done',
    kind: 'outcome_unknown',
    made: 1,
    reason: 'a 500 with a billing machine behind it',
  },
  { trouble: 'unavailable', kind: 'outcome_unknown', made: 0, reason: 'a bare 503 is never capacity' },
  { trouble: 'hang', kind: 'outcome_unknown', made: 0, reason: 'no answer within the deadline' },
  { trouble: 'hang_but_done', kind: 'outcome_unknown', made: 1, reason: 'made, and the answer was lost' },
  { trouble: 'reset', kind: 'outcome_unknown', made: 0, reason: 'cut before anything was done' },
  { trouble: 'reset_but_done', kind: 'outcome_unknown', made: 1, reason: 'made, and cut' },
  { trouble: 'html', kind: 'outcome_unknown', made: 0, reason: 'a gateway page is no answer' },
  { trouble: 'garbage', kind: 'outcome_unknown', made: 0, reason: 'half of an answer is none' },
  { trouble: 'wrong_shape', kind: 'outcome_unknown', made: 0, reason: 'an answer of another shape is none' },
];

function failedCreatesOfLane(current: () => LaneUnderTest, plays: Plays): void {
  test.each(played(FAILED_CREATES, plays))(
    'a create that meets $trouble is $kind: $reason',
    async ({ trouble, kind, made }) => {
      const under = current();
      const mark = freshMark();
      await under.trouble('create', trouble);
      const answer = await laneFor(under, trouble).create(mark, under.request);
      expect(answer).toMatchObject({ kind: 'failed', failure: { kind, call: 'create', sent: true } });
      expect(await under.madeOf(mark.intent)).toBe(made);
    },
  );

  test.runIf(plays('error_but_done'))('pitfall 30: what a 500 has made is found by its marker', async () => {
    const under = current();
    const mark = freshMark();
    await under.trouble('create', 'error_but_done');
    await under.lane.create(mark, under.request);
    const listing = await under.lane.list();
    const found = listing.kind === 'ok' ? listing.value.filter(({ name }) => name === mark.name) : [];
    expect(found).toMatchObject([{ marker: { intent: mark.intent } }]);
  });

  test.runIf(plays('rate_limited'))('the pause that a provider asks for is told', async () => {
    const under = current();
    await under.trouble('create', 'rate_limited', 17);
    const answer = await under.lane.create(freshMark(), under.request);
    expect(answer).toMatchObject({ kind: 'failed', failure: { kind: 'rate_limited', retryAfterS: 17 } });
    await under.trouble('create', 'rate_limited');
    const unnamed = await under.lane.create(freshMark(), under.request);
    expect(unnamed).toMatchObject({ failure: { retryAfterS: null } });
  });

  test('a connection that was never made sent nothing (1.3)', async () => {
    const under = current();
    const answer = await under.unreachable().create(freshMark(), under.request);
    expect(answer).toMatchObject({
      kind: 'failed',
      failure: { kind: 'unavailable', sent: false, status: null },
    });
  });
}

interface Troubled {
  readonly trouble: Trouble;
  readonly kind: LaneFailureKind;
}

const FAILED_LISTINGS: readonly Troubled[] = [
  { trouble: 'partial', kind: 'unavailable' },
  { trouble: 'error', kind: 'unavailable' },
  { trouble: 'unavailable', kind: 'unavailable' },
  { trouble: 'hang', kind: 'unavailable' },
  { trouble: 'reset', kind: 'unavailable' },
  { trouble: 'html', kind: 'unavailable' },
  { trouble: 'garbage', kind: 'unavailable' },
  { trouble: 'wrong_shape', kind: 'unavailable' },
  { trouble: 'auth', kind: 'auth' },
  { trouble: 'rate_limited', kind: 'rate_limited' },
];

function listingsOfLane(current: () => LaneUnderTest, plays: Plays): void {
  test.each<Stranger & { readonly reason: string }>([
    { name: 'train-7', reason: 'no marker at all' },
    { name: 'sw-test-0123456789abcdef-aaaaaaaaaaaaaaaaaaaaaaaaaa', reason: 'our form of name, no marker' },
    {
      name: 'copied-by-hand',
      mark: { deployment: 'test', allocation: '0123456789abcdef', intent: randomId() },
      reason: 'a marker under another name',
    },
    {
      name: 'sw-other-0123456789abcdef-bbbbbbbbbbbbbbbbbbbbbbbbbb',
      mark: { deployment: 'other', allocation: '0123456789abcdef', intent: 'bbbbbbbbbbbbbbbbbbbbbbbbbb' },
      reason: 'another deployment',
    },
  ])('lists what is not ours as it is: $reason (1.6)', async ({ reason: _reason, ...stranger }) => {
    const under = current();
    const id = await under.addStranger(stranger);
    const none = { deployment: null, allocation: null, intent: null };
    expect(await listedOf(under, id)).toMatchObject({ name: stranger.name, marker: stranger.mark ?? none });
  });

  test('a keep mark is told (1.10)', async () => {
    const under = current();
    const id = await under.addStranger({ name: 'kept-one', keep: true });
    expect((await listedOf(under, id))?.keep).toBe(true);
  });

  test('all pages are read: many instances are all listed', async () => {
    const under = current();
    const ids: string[] = [];
    for (let i = 0; i < 7; i += 1)
      ids.push(await under.addStranger({ name: `crowd-${i}-${randomId().slice(0, 8)}` }));
    const listing = await under.lane.list();
    const listed = listing.kind === 'ok' ? listing.value.map(({ id }) => id) : [];
    expect(listed).toEqual(expect.arrayContaining(ids));
    expect(new Set(listed).size).toBe(listed.length);
  });

  test.each(played(FAILED_LISTINGS, plays))(
    'a listing that meets $trouble is no listing: $kind, never an empty or partial one',
    async ({ trouble, kind }) => {
      const under = current();
      await under.addStranger({ name: `there-${trouble.replaceAll('_', '-')}` });
      await under.trouble('list', trouble);
      expect(await laneFor(under, trouble).list()).toMatchObject({
        kind: 'failed',
        failure: { kind, call: 'list' },
      });
    },
  );

  test('pitfall 29: an instance can be made and not listed yet; later it is', async () => {
    const under = current();
    await under.lag(3_600);
    const made = await createOn(under, freshMark());
    expect(await listedOf(under, made.id)).toBeUndefined();
    await under.lag(0);
    expect(await listedOf(under, made.id)).toMatchObject({ id: made.id });
  });
}

const FAILED_READS: readonly Troubled[] = [
  { trouble: 'html', kind: 'unavailable' },
  { trouble: 'garbage', kind: 'unavailable' },
  { trouble: 'wrong_shape', kind: 'unavailable' },
  { trouble: 'error', kind: 'unavailable' },
  { trouble: 'unavailable', kind: 'unavailable' },
  { trouble: 'hang', kind: 'unavailable' },
  { trouble: 'reset', kind: 'unavailable' },
  { trouble: 'auth', kind: 'auth' },
  { trouble: 'rate_limited', kind: 'rate_limited' },
  { trouble: 'not_found', kind: 'not_found' },
];

function readsOfLane(current: () => LaneUnderTest, plays: Plays): void {
  test('reads one instance by the id that the create gave', async () => {
    const under = current();
    const mark = freshMark();
    const made = await createOn(under, mark);
    expect(await under.lane.get(made.id)).toMatchObject({
      kind: 'ok',
      value: { instance: { id: made.id, name: mark.name, marker: { intent: mark.intent } } },
    });
  });

  test('an id that the provider does not know is not_found, by its own words', async () => {
    const under = current();
    const made = await createOn(under, freshMark());
    await under.lane.terminate(made.id);
    expect(await under.lane.get(made.id)).toMatchObject({
      kind: 'failed',
      failure: { kind: 'not_found', call: 'get' },
    });
  });

  test.each(played(FAILED_READS, plays))(
    'pitfall 35: a read that meets $trouble is $kind and nothing else',
    async ({ trouble, kind }) => {
      const under = current();
      const made = await createOn(under, freshMark());
      await under.trouble('get', trouble);
      expect(await laneFor(under, trouble).get(made.id)).toMatchObject({
        kind: 'failed',
        failure: { kind, call: 'get' },
      });
    },
  );

  test('a machine that ended by itself is terminated, and still there', async () => {
    const under = current();
    const made = await createOn(under, freshMark());
    await under.stop(made.id);
    expect(await under.lane.get(made.id)).toMatchObject({
      kind: 'ok',
      value: { instance: { state: 'terminated' } },
    });
  });
}

const FAILED_ENDS: readonly Troubled[] = [
  { trouble: 'html', kind: 'unavailable' },
  { trouble: 'error', kind: 'unavailable' },
  { trouble: 'hang', kind: 'unavailable' },
  { trouble: 'reset', kind: 'unavailable' },
  { trouble: 'auth', kind: 'auth' },
  { trouble: 'rate_limited', kind: 'rate_limited' },
];

function endsOfLane(current: () => LaneUnderTest, plays: Plays): void {
  test('a terminate ends this one instance, and its twin by name lives on (1.8)', async () => {
    const under = current();
    const mark = freshMark();
    const made = await createOn(under, mark);
    const stranger = await under.addStranger({ name: `twin-${mark.intent}` });
    const answer = await under.lane.terminate(made.id);
    expect(['gone', 'requested']).toContain(answer.kind);
    expect(await under.liveOf(mark.intent)).toBe(0);
    expect(await listedOf(under, made.id)).toBeUndefined();
    expect(await listedOf(under, stranger)).toMatchObject({ id: stranger });
  });

  test('terminating again is a success that says so', async () => {
    const under = current();
    const made = await createOn(under, freshMark());
    await under.lane.terminate(made.id);
    expect((await under.lane.terminate(made.id)).kind).toBe('gone');
  });

  test('pitfall 34: inside the grace "no such instance" is told as only that', async () => {
    const under = current();
    const mark = freshMark();
    await under.lag(3_600);
    const made = await createOn(under, mark);
    const answer = await under.lane.terminate(made.id);
    expect(answer).toEqual({ kind: 'gone', onlyNotFound: true });
    expect(await under.liveOf(mark.intent)).toBe(1);
  });

  test.runIf(plays('said_done_but_not'))(
    'taken is not gone: an instance that is still seen counts as billing',
    async () => {
      const under = current();
      const mark = freshMark();
      const made = await createOn(under, mark);
      await under.trouble('terminate', 'said_done_but_not');
      expect(await under.hasty.terminate(made.id)).toEqual({ kind: 'requested' });
      expect(await under.liveOf(mark.intent)).toBe(1);
    },
  );

  test.each(played(FAILED_ENDS, plays))(
    'pitfall 34: a terminate that meets $trouble has not ended anything: $kind',
    async ({ trouble, kind }) => {
      const under = current();
      const made = await createOn(under, freshMark());
      await under.trouble('terminate', trouble);
      expect(await laneFor(under, trouble).terminate(made.id)).toMatchObject({
        kind: 'failed',
        failure: { kind, call: 'terminate' },
      });
    },
  );

  describe('every failure', () => {
    test('is one member of the union, with provider and call', async () => {
      const under = current();
      await under.trouble('list', 'error');
      const answer = await under.lane.list();
      if (answer.kind !== 'failed') throw new Error('a failure was scripted');
      expect(LANE_FAILURES).toContain(answer.failure.kind);
      expect(answer.failure.provider).toBe(under.lane.facts.provider);
      expect(answer.failure.text.length).toBeGreaterThan(0);
    });
  });
}

async function listedOf({ lane }: LaneUnderTest, id: string) {
  const listing = await lane.list();
  if (listing.kind === 'failed') throw new Error(`no listing: ${JSON.stringify(listing.failure)}`);
  return listing.value.find((instance) => instance.id === id);
}
