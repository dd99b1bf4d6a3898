import { describe, expect, test } from 'vitest';
import type { Expectation } from './fallback-cases.ts';
import { type Answer, mismatchesOf } from './fallback-expect.ts';

const answer = (json: unknown): Answer => ({ status: 200, text: JSON.stringify(json), json });

const PROMPTING = {
  ok: true,
  decision: {
    prompt: true,
    reason: 'failed_attempt_threshold',
    classification: { category: 'other', qualifying: true },
  },
  needs_confirmation: true,
  confirm_token: 'tok-1',
  allocation: {
    qualifying_attempts: 3,
    status: 'awaiting-consent',
    provenance: [
      { consent_outcome: 'recorded', attempt: 2 },
      { consent_outcome: 'accepted', attempt: 3 },
    ],
  },
  capabilities: { gpu_allocation_fallback: { routes: ['a', 'b'] } },
};

describe('each expectation is met by a conforming answer and names what does not conform', () => {
  test.each<{ fits: Expectation; breaks: Expectation; message: string | RegExp }>([
    {
      fits: { status: 200 },
      breaks: { status: 409 },
      message: /^status is 200, expected 409: \{"ok":true/,
    },
    {
      fits: { status_any_of: [403, 200] },
      breaks: { status_any_of: [400, 403] },
      message: /expected 400 or 403/,
    },
    {
      fits: { decision: { prompt: true } },
      breaks: { decision: { prompt: false } },
      message: 'decision.prompt is true, expected false',
    },
    {
      fits: { decision: { reason: 'failed_attempt_threshold' } },
      breaks: { decision: { reason: 'suppressed' } },
      message: 'decision.reason is "failed_attempt_threshold", expected "suppressed"',
    },
    {
      fits: { decision: { category: 'other', qualifying: true } },
      breaks: { decision: { category: 'timeout' } },
      message: 'decision.classification.category is "other", expected "timeout"',
    },
    {
      fits: { allocation: { qualifying_attempts: 3 } },
      breaks: { allocation: { qualifying_attempts: 2 } },
      message: 'allocation.qualifying_attempts is 3, expected 2',
    },
    {
      fits: { allocation: {} },
      breaks: { allocation: { consent: 'pending' } },
      message: 'allocation.consent is absent, expected "pending"',
    },
    {
      fits: { token: true },
      breaks: { token: false },
      message: 'confirm_token is present, expected none',
    },
    { fits: {}, breaks: { no_prompt: true }, message: 'decision.prompt is true, expected no prompt' },
    {
      fits: { has: ['ok=true', 'decision.prompt'] },
      breaks: { has: ['ok=false'] },
      message: 'lacks ok=false: it is true',
    },
    {
      fits: { has: ['allocation.provenance.1.attempt=3'] },
      breaks: { has: ['nothing.here'] },
      message: 'lacks nothing.here',
    },
    {
      fits: { lacks: ['nothing.here', 'ok=false'] },
      breaks: { lacks: ['decision.reason'] },
      message: 'has decision.reason',
    },
    {
      fits: { routes: ['a', 'b'] },
      breaks: { routes: ['b', 'a'] },
      message: 'capabilities.gpu_allocation_fallback.routes is ["a","b"], expected ["b","a"]',
    },
    {
      fits: { not_contains: ['secret'] },
      breaks: { not_contains: ['tok-1'] },
      message: 'contains "tok-1"',
    },
    {
      fits: { allocation_not_contains: ['tok-1'] },
      breaks: { allocation_not_contains: ['awaiting'] },
      message: 'allocation contains "awaiting"',
    },
    {
      fits: { provenance_max: 2 },
      breaks: { provenance_max: 1 },
      message: 'provenance has 2 rows, expected at most 1',
    },
    {
      fits: { provenance_last: { attempt: 3 } },
      breaks: { provenance_last: { attempt: 2 } },
      message: 'allocation.provenance.1.attempt is 3, expected 2',
    },
    {
      fits: { provenance_has_outcome: 'recorded' },
      breaks: { provenance_has_outcome: 'declined' },
      message: 'provenance has no row with consent_outcome declined',
    },
  ])('$breaks', ({ fits, breaks, message }) => {
    expect(mismatchesOf(fits, answer(PROMPTING))).toEqual([]);
    expect(mismatchesOf(breaks, answer(PROMPTING))[0]).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
  });

  test('a missing token', () => {
    expect(mismatchesOf({ token: true }, answer({ ok: true }))).toEqual(['confirm_token is missing']);
    expect(mismatchesOf({ token: true }, answer({ confirm_token: '' }))).toEqual([
      'confirm_token is missing',
    ]);
  });

  test('an expected null may be left out', () => {
    expect(mismatchesOf({ decision: { category: null } }, answer({ decision: {} }))).toEqual([]);
  });

  test('everything that is wrong is named at once', () => {
    const wrong = {
      status: 400,
      decision: { prompt: true },
      allocation: { status: 'tracking' },
      token: true,
    } as const;
    expect(mismatchesOf(wrong, answer({}))).toHaveLength(4);
  });

  test('an answer that is not JSON has nothing in it', () => {
    const page: Answer = { status: 200, text: '<html>', json: null };
    expect(mismatchesOf({ has: ['ok'], provenance_max: 32 }, page)).toEqual([
      'lacks ok',
      'allocation.provenance is no list',
    ]);
  });
});
