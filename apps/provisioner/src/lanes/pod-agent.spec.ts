import { describe, expect, test } from 'vitest';
import { Secret } from '#platform/secret';
import type { HttpCall, HttpReply } from './exchange.ts';
import { agentToken, httpPodAgent } from './pod-agent.ts';

const KEY = new Secret(new Uint8Array(32).fill(1));
const AT = { url: 'https://pod-8799.example', token: 'token-of-the-pod' };
const STATUS = { intent: 'i', bootstrap: 'complete', workload: 'none' };
const WORKLOAD = {
  command: 'run',
  arguments: null,
  image: 'me/x',
  branch: 'main',
  env: { A: '1' },
  outputs: ['out'],
  diskBytes: 1,
  memoryBytes: 1,
};

/** An agent behind an exchange that answers as told, and what it was asked. */
function agentThatAnswers(reply: HttpReply) {
  const asked: HttpCall[] = [];
  const exchange = async (call: HttpCall) => {
    asked.push(call);
    return reply;
  };
  return { agent: httpPodAgent({ provider: 'runpod', exchange }), asked };
}
const answered = (status: number, json: unknown): HttpReply => ({
  kind: 'answered',
  status,
  retryAfterS: null,
  text: JSON.stringify(json) ?? '',
  json,
});

describe('the token', () => {
  test('is the same for the same intent, and another for every other key or intent', () => {
    const token = agentToken(KEY, 'aaaa');
    expect(agentToken(KEY, 'aaaa')).toBe(token);
    expect(agentToken(KEY, 'aaab')).not.toBe(token);
    expect(agentToken(new Secret(new Uint8Array(32).fill(2)), 'aaaa')).not.toBe(token);
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  });
});

describe('a start', () => {
  test('hands over the workload with the token of the pod', async () => {
    const { agent, asked } = agentThatAnswers(answered(200, { ...STATUS, workload: 'running' }));
    expect(await agent.start(AT, 'i', WORKLOAD)).toMatchObject({
      kind: 'ok',
      status: { workload: 'running' },
    });
    expect(asked).toMatchObject([
      {
        method: 'POST',
        url: 'https://pod-8799.example/spillway/start',
        headers: { authorization: 'Bearer token-of-the-pod' },
        body: {
          intent: 'i',
          workload: { command: 'run', arguments: null, branch: 'main', env: { A: '1' }, outputs: ['out'] },
        },
      },
    ]);
  });

  test.each([
    {
      reply: answered(409, { error: 'other_intent' }),
      kind: 'rejected',
      reason: 'it says that it began nothing',
    },
    {
      reply: answered(422, { error: 'start_failed' }),
      kind: 'rejected',
      reason: 'it says that it began nothing',
    },
    { reply: answered(401, { error: 'unauthorized' }), kind: 'auth', reason: 'it did not let us in' },
    { reply: answered(500, { error: 'internal' }), kind: 'outcome_unknown', reason: 'it may have begun' },
    { reply: answered(404, { error: 'x' }), kind: 'unavailable', reason: 'a proxy before a closed port' },
    { reply: answered(409, undefined), kind: 'outcome_unknown', reason: 'not the agent’s own words' },
    { reply: answered(200, { ok: true }), kind: 'outcome_unknown', reason: 'another shape' },
    {
      reply: answered(200, { ...STATUS, workload: 'maybe' }),
      kind: 'outcome_unknown',
      reason: 'an unknown state',
    },
    { reply: { kind: 'unanswered', sent: true, text: 'reset' }, kind: 'outcome_unknown', reason: 'cut' },
    {
      reply: { kind: 'unanswered', sent: false, text: 'refused' },
      kind: 'unavailable',
      reason: 'never sent',
    },
  ] as const)('$kind: $reason', async ({ reply, kind }) => {
    const { agent } = agentThatAnswers(reply);
    expect(await agent.start(AT, 'i', WORKLOAD)).toMatchObject({
      kind: 'failed',
      failure: { kind, call: 'dispatch' },
    });
  });

  test('a failure gives no token away', async () => {
    const { agent } = agentThatAnswers(answered(500, { error: 'token-of-the-pod' }));
    expect(JSON.stringify(await agent.start(AT, 'i', WORKLOAD))).not.toContain('token-of-the-pod"}');
  });
});

describe('a status', () => {
  test('has null for what is left out', async () => {
    const { agent } = agentThatAnswers(answered(200, STATUS));
    expect(await agent.status(AT)).toEqual({
      kind: 'ok',
      status: { ...STATUS, result: null, log_age_s: null },
    });
  });

  test('that does not come is unavailable, never an unknown outcome', async () => {
    const { agent } = agentThatAnswers({ kind: 'unanswered', sent: true, text: 'reset' });
    expect(await agent.status(AT)).toMatchObject({ failure: { kind: 'unavailable', call: 'probe' } });
  });
});
