import { expect, test } from 'vitest';
import { tokenOf } from '#support/calls';
import { askedByFailures, capacityFailure } from '#support/failing-attempts';
import { withApps } from '#support/running-apps';
import { at } from '../conformance/fallback-expect.ts';

const HOUR_MS = 3_600_000;

/** Moves what an app takes for the time, before anything of it is loaded. */
const skewed = `
const by = { ingest: -${HOUR_MS}, consent: ${HOUR_MS} };
const app = Object.keys(by).find((name) => process.argv[1].includes('/apps/' + name + '/'));
const Real = Date;
if (app !== undefined) globalThis.Date = class extends Real {
  constructor(...given) { if (given.length === 0) super(Real.now() + by[app]); else super(...given); }
  static now() { return Real.now() + by[app]; }
};`;

const system = withApps({
  env: {
    SPILLWAY_TOKEN_LIFE_S: '900',
    NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(skewed).toString('base64')}`,
  },
});

test('with clocks an hour behind and ahead no token expires early, and the question is asked once', async () => {
  const name = 'team/wrong-clocks';
  const asked = await askedByFailures(system.calls, name, { attempt_id: 'third' });
  const token = tokenOf(asked);
  const repeated = await system.calls.attempt(capacityFailure(name, { attempt_id: 'third' }));
  expect(tokenOf(repeated)).toBe(token);
  const listed = await system.calls.get('/api/prompts');
  expect(at(listed.json, 'prompts.0.expired')).not.toBe(true);

  const answer = { logical_allocation: name, accept: true, confirm_token: token };
  expect(await system.calls.consent(answer)).toMatchObject({ status: 200 });
});

test('what is written is written at the time of the log', async () => {
  const rows = await system.log.readAfter(0, 100);
  const agesMs = rows.map(({ occurredAt, recordedAt }) => Date.parse(recordedAt) - Date.parse(occurredAt));
  expect(Math.max(...agesMs.map(Math.abs))).toBeLessThan(60_000);
});
