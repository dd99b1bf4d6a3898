import { expect, test } from 'vitest';
import { authenticationOff, FixedTokens, mayDo, SCOPES } from './auth.ts';

test('without authentication everyone is local and may do everything', async () => {
  expect(await authenticationOff.authenticate({})).toEqual({
    outcome: 'known',
    subject: 'local',
    scopes: SCOPES,
  });
});

test('a known token names its caller and what it may do', async () => {
  const tokens = new FixedTokens({ 't-1': { subject: 'poller-a', scopes: ['report'] } });
  const caller = await tokens.authenticate({ authorization: 'Bearer t-1' });
  expect(caller).toEqual({ outcome: 'known', subject: 'poller-a', scopes: ['report'] });
  expect(caller.outcome === 'known' && mayDo(caller, 'report')).toBe(true);
  expect(caller.outcome === 'known' && mayDo(caller, 'consent')).toBe(false);
});

test.each([{}, { authorization: 'Bearer t-2' }, { authorization: 't-1' }, { authorization: ['Bearer t-1'] }])(
  'refuses %j',
  async (headers) => {
    const tokens = new FixedTokens({ 't-1': { subject: 'poller-a', scopes: ['report'] } });
    expect(await tokens.authenticate(headers)).toEqual({ outcome: 'refused' });
  },
);
