import { describe, expect, test } from 'vitest';
import { openQuestion, prompted } from '#support/allocation-events';
import { at, capacityFailure, DAY_S, DEFAULT_RULES, HOUR_S, idOf } from '#support/builders';
import { type Allocation, evolve, UNKNOWN_ALLOCATION } from '../allocation.ts';
import { decideAttempt } from './prompt.ts';
import { isExpired, renewPrompt } from './renewal.ts';

const asked: Allocation = evolve(UNKNOWN_ALLOCATION, prompted(1, { record: 'opened' }));
const renew = (state: Allocation, seconds: number, name = 'renewal') =>
  renewPrompt(state, { at: at(seconds), decisionId: idOf(name), tokenLifeS: HOUR_S });

describe('life time', () => {
  test.each([
    { reason: 'a question lives until its last millisecond', at: '2026-11-30T09:59:59.999Z', expired: false },
    { reason: 'it has ended when its life time is over', at: '2026-11-30T10:00:00.000Z', expired: true },
    { reason: 'and stays ended', at: '2027-01-01T00:00:00.000Z', expired: true },
  ])('$reason', ({ at: when, expired }) => {
    expect(isExpired(openQuestion(), when)).toBe(expired);
  });
  test('begins when the question is decided, and is the deployment’s to set', () => {
    const late = { ...capacityFailure({ proof: true }), decidedAt: at(60) };
    const decision = decideAttempt(UNKNOWN_ALLOCATION, late, { ...DEFAULT_RULES, tokenLifeS: 10 });
    expect(decision.state.scalars.openQuestion?.expiresAt).toBe(at(70));
  });
});

describe('renewal', () => {
  test('gives the same question a new id and life time; action, evidence, count and rows stay', () => {
    const scalars = {
      ...asked.scalars,
      openQuestion: { ...openQuestion(), eventId: idOf('renewal'), expiresAt: at(DAY_S + HOUR_S) },
    };
    expect(renew(asked, DAY_S)).toEqual({
      data: { renews: openQuestion().eventId, expiresAt: at(DAY_S + HOUR_S), after: scalars },
      state: { ...asked, version: 2, scalars },
    });
  });
  test('can come again, and still names the question that was first asked', () => {
    const once = renew(asked, DAY_S);
    const twice = renew(once?.state ?? UNKNOWN_ALLOCATION, DAY_S + HOUR_S, 'second renewal');
    expect(twice?.data.renews).toBe(idOf('renewal'));
    expect(twice?.state.scalars.openQuestion).toEqual({
      ...openQuestion(),
      eventId: idOf('second renewal'),
      expiresAt: at(DAY_S + 2 * HOUR_S),
    });
  });
  test('leaves a living question alone', () => {
    expect(renew(asked, DAY_S - 1)).toBeNull();
  });
  test('has nothing to renew where nothing is open', () => {
    expect(renew(UNKNOWN_ALLOCATION, DAY_S)).toBeNull();
  });
  test('a renewal of nothing is no possible history', () => {
    const renewal = {
      type: 'PromptRenewed',
      eventId: idOf('renewal'),
      data: { renews: idOf('x'), expiresAt: at(0) },
    } as const;
    expect(() => evolve(UNKNOWN_ALLOCATION, renewal)).toThrow(/without an open question/);
  });
});
