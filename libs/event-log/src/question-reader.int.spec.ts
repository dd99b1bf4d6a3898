import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Allocation,
  type AllocationEvent,
  allocationRowOf,
  evolve,
  UNKNOWN_ALLOCATION,
} from '#domain/allocation';
import type { CommandEvent } from '#domain/log';
import type { RecordedQuestion } from '#domain/prompt/recorded-question';
import { CATALOGUE } from '#events/catalogue';
import { eventIdOf } from '#events/envelope';
import { allocationStream } from '#events/streams';
import { at, digestOf } from '#support/builders';
import { goldenEvent } from '#support/golden';
import { withPostgres } from '#support/infra';
import { command, fresh } from '#support/log-builders';
import { openLog, withClient } from '#support/open-log';
import { seeded } from '#support/seeded';
import { PlacementStates } from './placement-states.ts';
import type { PostgresLog } from './postgres-log.ts';
import { QuestionReader } from './question-reader.ts';
import { ASKED_QUESTIONS_SQL, OPEN_QUESTIONS_SQL } from './questions.ts';

const db = withPostgres();
let log: PostgresLog;
let reader: QuestionReader;
beforeAll(async () => {
  log = await openLog(db.url);
  reader = new QuestionReader({ log, placements: new PlacementStates(log, 100) });
});
afterAll(() => log?.close());

const ASKED = goldenEvent('FallbackPrompted').data;
const TRACKED = goldenEvent('AttemptTracked').data;
const DECLINED = goldenEvent('ConsentDeclined').data;
const SUCCEEDED = goldenEvent('AllocationSucceeded').data;

/** Events that one command may have. */
const COMMAND_MAX = 64;

/** What happens to one allocation, in the order in which it is recorded; every event is one command. */
class Life {
  readonly stream = allocationStream(digestOf(fresh('question')));
  readonly ids: string[] = [];
  #state: Allocation = UNKNOWN_ALLOCATION;

  get open() {
    return this.#state.scalars.openQuestion;
  }

  /** Another question; it takes the place of one that is open. */
  ask = () =>
    this.#record((eventId) => ({ type: 'FallbackPrompted', eventId, data: { ...ASKED, record: 'kept' } }));
  /** So many attempts that change no question. */
  attempts = async (count: number): Promise<string> => {
    const attempt = (eventId: string): AllocationEvent => {
      return { type: 'AttemptTracked', eventId, data: { ...TRACKED, record: 'kept' } };
    };
    for (let left = count; left > 0; left -= COMMAND_MAX) {
      await this.#record(...Array.from({ length: Math.min(left, COMMAND_MAX) }, () => attempt));
    }
    return '';
  };
  decline = () => this.#record((eventId) => ({ type: 'ConsentDeclined', eventId, data: DECLINED }));
  succeed = () =>
    this.#record((eventId) => ({
      type: 'AllocationSucceeded',
      eventId,
      data: { ...SUCCEEDED, record: 'kept' },
    }));
  renew = () => {
    const renews = this.open?.eventId ?? '';
    return this.#record((eventId) => ({
      type: 'PromptRenewed',
      eventId,
      data: { renews, expiresAt: at(9_000) },
    }));
  };

  async #record(...events: readonly ((eventId: string) => AllocationEvent)[]): Promise<string> {
    const commandId = fresh('life');
    const recorded = events.map((eventWith, index): CommandEvent => {
      const event = eventWith(eventIdOf(commandId, index));
      this.#state = evolve(this.#state, event);
      const data = { ...event.data, after: this.#state.scalars };
      const { version, role } = CATALOGUE[event.type];
      return { event: { type: event.type, version, role, data }, meta: { causedBy: null, saw: 0 } };
    });
    const allocation = allocationRowOf(this.#state.scalars);
    const given = { commandId, stream: this.stream, events: recorded, allocation };
    const [result] = await log.append([
      command(this.ids.length === 0 ? { ...given, ringKeyId: 'k1' } : given),
    ]);
    expect(result?.outcome).toBe('appended');
    const id = eventIdOf(commandId, 0);
    this.ids.push(id);
    return id;
  }
}

async function read(id: string): Promise<RecordedQuestion> {
  const question = await reader.byId(id);
  if (question === null) throw new Error('no such question');
  return question;
}

describe('the end of a question is found', () => {
  // 100 events are read in one go; beyond it the end is searched for by halves.
  test.each([0, 1, 98, 99, 100, 101, 250])(
    'with %i attempts before it, and whatever follows',
    async (between) => {
      for (const renewedAfter of [null, Math.floor(between / 2)]) {
        const life = new Life();
        await life.attempts(2);
        const asked = await life.ask();
        let id = asked;
        if (renewedAfter !== null) {
          await life.attempts(renewedAfter);
          id = await life.renew();
          await life.attempts(between - renewedAfter);
        } else await life.attempts(between);
        expect(await read(asked)).toMatchObject({ id, end: null });

        const end = await life.decline();
        for (const more of [0, 1, 150]) {
          await life.attempts(more);
          const question = await read(asked);
          expect(question.end?.by.row.eventId).toBe(end);
          expect([question.id, question.asked.row.eventId]).toEqual([id, asked]);
          expect(await read(id)).toEqual(question);
        }
      }
    },
  );

  test('also that of each of many in one stream, by whatever ended it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('ask', 'attempts', 'decline', 'succeed', 'renew'), {
          minLength: 1,
          maxLength: 25,
        }),
        async (steps) => {
          const life = new Life();
          const expected = new Map<string, { id: string; end: string | null }>();
          for (const step of steps) {
            const before = life.open;
            if (before === null && (step === 'decline' || step === 'renew')) continue;
            const recorded = await (step === 'attempts' ? life.attempts(3) : life[step]());
            const after = life.open;
            if (before !== null && before.originId !== after?.originId) {
              expected.set(before.originId, { id: before.eventId, end: recorded });
            }
            if (after !== null) expected.set(after.originId, { id: after.eventId, end: null });
          }
          for (const [originId, { id, end }] of expected) {
            const question = await read(originId);
            expect([question.id, question.end?.by.row.eventId ?? null]).toEqual([id, end]);
          }
        },
      ),
      seeded(15),
    );
  });
});

describe('lists', () => {
  test('have every open question once, the one asked or renewed last first', async () => {
    const lives = [new Life(), new Life(), new Life()];
    const asked: string[] = [];
    for (const life of lives) asked.push(await life.ask());
    const renewed = await lives[0]?.renew();
    const page = await reader.open(3);
    expect(page.questions.map(({ id }) => id)).toEqual([renewed, asked[2], asked[1]]);
    expect(page.questions[0]?.asked.row.eventId).toBe(asked[0]);
    const next = await reader.open(3, page.nextBefore ?? 0);
    expect(next.questions.map(({ id }) => id)).not.toContain(asked[0]);
  });

  test('pass over open ones to fill a page of closed ones', async () => {
    const closed: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      const life = new Life();
      closed.unshift(await life.ask());
      await life.decline();
      for (let more = 0; more < 3; more += 1) {
        const renewed = new Life();
        await renewed.ask();
        await renewed.renew();
      }
    }
    const first = await reader.closed(2);
    expect(first.questions.map(({ asked }) => asked.row.eventId)).toEqual(closed.slice(0, 2));
    const second = await reader.closed(1, first.nextBefore ?? 0);
    expect(second.questions.map(({ asked }) => asked.row.eventId)).toEqual(closed.slice(2));
  });

  test('end', async () => {
    expect(await reader.closed(10, 1)).toEqual({ questions: [], nextBefore: null });
    expect(await reader.open(10, 1)).toEqual({ questions: [], nextBefore: null });
    expect((await reader.closed(100_000)).nextBefore).toBeNull();
  });
});

test('only the newest events before the asking are read', async () => {
  const life = new Life();
  await life.attempts(70);
  const { before } = await read(await life.ask());
  expect(before).toHaveLength(60);
  expect(before.at(-1)?.row.streamVersion).toBe(70);
});

test.each(['', 'x', '\0', 'A'.repeat(26), 'a'.repeat(26)])('%j is no question', async (id) => {
  expect(await reader.byId(id)).toBeNull();
});

test.each([
  ['open', OPEN_QUESTIONS_SQL, 'event_id_once'],
  ['asked', ASKED_QUESTIONS_SQL, 'event_questions'],
])('the list of %s questions does not walk through the log', async (_list, sql, index) => {
  await withClient(db.url, async (client) => {
    const filler = new Life();
    await filler.attempts(200);
    await client.query('analyze spillway.event');
    // Small tables are read whole at no cost: what is asked here is whether there is another way.
    await client.query('set enable_seqscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': unknown }>(
      `explain (format json) ${sql.replace('$1', '1000000').replace('$2', '20')}`,
    );
    const plan = JSON.stringify(rows);
    expect(plan).not.toContain('"Seq Scan"');
    expect(plan).not.toContain('event_pkey');
    expect(plan).toContain(index);
  });
});

/** As a damaged disk, or a version to come, would leave it. */
const spoil = (eventId: string) =>
  withClient(db.url, async (client) => {
    await client.query('begin');
    await client.query('alter table spillway.event disable trigger all');
    await client.query("update spillway.event set body = '{}' where event_id = $1", [eventId]);
    await client.query('alter table spillway.event enable trigger all');
    await client.query('commit');
  });

describe('what cannot be read hides no other question', () => {
  const listed = async () => {
    const [open, closed] = await Promise.all([reader.open(100), reader.closed(100)]);
    return [...open.questions, ...closed.questions].map(({ id }) => id);
  };

  test('of what led to it, the rest is told', async () => {
    const life = new Life();
    await life.attempts(1);
    const [attempt = ''] = life.ids;
    const id = await life.ask();
    await spoil(attempt);
    expect(await read(id)).toMatchObject({ id, end: null, before: [] });
  });

  test.each([
    ['open', 0],
    ['closed', 1],
  ])('an %s one is left out itself', async (_state, answers) => {
    const [life, other] = [new Life(), new Life()];
    const [id, seen] = [await life.ask(), await other.ask()];
    for (let given = 0; given < answers; given += 1) {
      await life.decline();
      await other.decline();
    }
    expect(await listed()).toEqual(expect.arrayContaining([id, seen]));
    await spoil(id);
    const left = await listed();
    expect(left).toContain(seen);
    expect(left).not.toContain(id);
    await expect(reader.byId(id)).rejects.toThrow(`body: FallbackPrompted v1`);
  });
});
