import { describe, expect, test } from 'vitest';
import { badMembersOf } from '#platform/bad-members';
import { ConsentBody } from './consent-body.ts';

function read(change: object) {
  const sent = JSON.stringify({ logical_allocation: 'a', accept: true, ...change });
  const parsed = ConsentBody.safeParse(JSON.parse(sent), { reportInput: true });
  return parsed.success ? { body: parsed.data } : { bad: badMembersOf(parsed.error, ConsentBody) };
}

describe('takes', () => {
  test.each([
    { reason: 'an acceptance', change: { confirm_token: 't', question: 'q' } },
    { reason: 'a decline without a token', change: { accept: false } },
    { reason: 'an empty token: it is wrong, not malformed', change: { confirm_token: '' } },
    { reason: 'a blank token', change: { confirm_token: '  ' } },
    { reason: 'a long token', change: { confirm_token: 'x'.repeat(10_000) } },
  ])('$reason', ({ change }) => {
    expect(read(change)).toEqual({ body: { logical_allocation: 'a', accept: true, ...change } });
  });
  test('the name trimmed', () => {
    expect(read({ logical_allocation: ' a ' }).body?.logical_allocation).toBe('a');
  });
  test.each(['confirm_token', 'question'])('null for an absent %s', (member) => {
    expect(read({ [member]: null })).toEqual(read({}));
  });
  test('and ignores what it does not know', () => {
    expect(read({ message_id: 7, x: '\ud800' })).toEqual(read({}));
  });
});

describe('refuses', () => {
  test.each([
    { member: 'accept', value: undefined, code: 'required', reason: 'absent' },
    { member: 'accept', value: null, code: 'wrong_type', reason: 'null' },
    { member: 'accept', value: 1, code: 'wrong_type', reason: '1' },
    { member: 'accept', value: 'no', code: 'wrong_type', reason: 'text' },
    { member: 'confirm_token', value: 7, code: 'wrong_type', reason: 'a number' },
    { member: 'confirm_token', value: {}, code: 'wrong_type', reason: 'an object' },
    { member: 'confirm_token', value: ['t'], code: 'wrong_type', reason: 'an array' },
    { member: 'confirm_token', value: '\ud800', code: 'invalid_unicode', reason: 'half a pair' },
    { member: 'question', value: 7, code: 'wrong_type', reason: 'a number' },
    { member: 'question', value: '\ud800', code: 'invalid_unicode', reason: 'half a pair' },
    { member: 'logical_allocation', value: undefined, code: 'required', reason: 'absent' },
    { member: 'logical_allocation', value: ' ', code: 'empty', reason: 'blank' },
  ])('$member: $reason', ({ member, value, code }) => {
    expect(read({ [member]: value })).toEqual({ bad: [{ pointer: `/${member}`, code }] });
  });
  test('a token that is not text also when it is not needed', () => {
    expect(read({ accept: false, confirm_token: 7 })).toEqual({
      bad: [{ pointer: '/confirm_token', code: 'wrong_type' }],
    });
  });
});
