import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { BadScenario, parseScenarios } from './scenario.ts';

const FOLDER = new URL('../conformance/scenarios/', import.meta.url);
const file = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');
const isBySchema = new Ajv2020({ strict: false }).compile(JSON.parse(file('SCHEMA.json')));

const LAUNCH = { at: 0, launch: {} };
const POD = {
  id: 'P9',
  name: 'train-7',
  state: 'RUNNING',
  marker: 'none',
  workload: 'none',
  created_at: -30,
  keep: false,
};
const GOOD = {
  id: 'TST-01',
  group: 'test',
  title: 'a scenario',
  steps: [LAUNCH],
  expect: { outcome: 'placed_primary' },
};

test('every scenario of the conformance set is one', () => {
  const scenarios = parseScenarios(file('scenarios.json'));
  expect(scenarios).toHaveLength(130);
  expect(new Set(scenarios.map(({ id }) => id)).size).toBe(130);
});

test.each([
  ['nonsense', 'not JSON'],
  ['{}', 'not a JSON list of scenarios'],
])('a file that is no list is refused: %s', (text, problem) => {
  expect(() => parseScenarios(text)).toThrow(new BadScenario(problem));
});

const observe = (change: object) => ({
  steps: [{ at: 1, observe: { instance: 'X1', provider: 'queued', ...change } }],
});
const step = (change: object) => ({ steps: [{ at: 1, ...change }] });
const plan = (change: object) => ({ plan: change });
const world = (change: object) => ({ world: change });
const expects = (change: object) => ({ expect: change });

describe('a member that is not as SCHEMA.json says is refused by name', () => {
  test.each<readonly [object, string]>([
    [{ id: 'TST-1' }, 'id'],
    [{ group: 'Test' }, 'group'],
    [{ title: '' }, 'title'],
    [{ t0: '2026-01-05' }, 't0'],
    [{ extra: 1 }, 'the scenario itself'],
    [{ steps: [] }, 'steps'],
    [{ steps: [LAUNCH, { at: 1, lunch: {} }] }, 'steps[1]'],
    [step({}), 'steps[0]'],
    [step({ launch: {}, restart: {} }), 'steps[0]'],
    [step({ launch: { now: true } }), 'steps[0].launch'],
    [{ steps: [{ at: -1, launch: {} }] }, 'steps[0].at'],
    [{ steps: [{ launch: {} }] }, 'steps[0].at'],
    [step({ placed: { rung: 'od_a', instance: 'X1' } }), 'steps[0].placed.create_operation'],
    [step({ consent: {} }), 'steps[0].consent.accept'],
    [step({ crash_next: { at: 'lunch' } }), 'steps[0].crash_next.at'],
    [step({ together: [{ launch: {} }] }), 'steps[0].together'],
    [step({ together: [{ launch: {} }, { at: 1, launch: {} }] }), 'steps[0].together[1]'],
    [step({ together: [{ launch: {} }, { together: [] }] }), 'steps[0].together[1]'],
    [step({ pods: [{ ...POD, marker: 'mine' }] }), 'steps[0].pods[0].marker'],
    [step({ pods: [{ ...POD, keep: undefined }] }), 'steps[0].pods[0].keep'],
    [step({ pods: [{ ...POD, extra: 1 }] }), 'steps[0].pods[0]'],
    [observe({ provider: 'gone' }), 'steps[0].observe.provider'],
    [observe({ lane: 'aws' }), 'steps[0].observe.lane'],
    [observe({ observed_at: -1 }), 'steps[0].observe.observed_at'],
    [observe({ guest: { phase: 'boot' } }), 'steps[0].observe.guest.workload_started'],
    [observe({ guest: null }), 'steps[0].observe.guest'],
    [observe({ alarm: 'loud' }), 'steps[0].observe.alarm'],
    [observe({ create_error: { message: 'x' } }), 'steps[0].observe.create_error.code'],
    [observe({ delete_operation: 'done' }), 'steps[0].observe.delete_operation'],
    [plan({ rungs: [] }), 'plan.rungs'],
    [plan({ rungs: [{ id: 'a', lane: 'runpod', pool: 'batch' }] }), 'plan.rungs[0].lane'],
    [plan({ terminal: { lane: 'gcp' } }), 'plan.terminal.lane'],
    [plan({ workload: { command: 'x', arguments: ['y'] } }), 'plan.workload'],
    [plan({ budget_s: 0 }), 'plan.budget_s'],
    [plan({ failover: 'maybe' }), 'plan.failover'],
    [plan({ limits: { creates_per_day: 1.5 } }), 'plan.limits.creates_per_day'],
    [plan({ limits: { queue_wait_s: 0 } }), 'plan.limits.queue_wait_s'],
    [plan({ limits: { lunch: 1 } }), 'plan.limits'],
    [world({ gcp: { create: [] } }), 'world.gcp.create'],
    [world({ gcp: { create: ['capacity'] } }), 'world.gcp.create[0]'],
    [world({ gcp: { cancel: 'slow' } }), 'world.gcp.cancel'],
    [world({ slurm: { create: ['workload_error'] } }), 'world.slurm.create[0]'],
    [world({ runpod: { create: ['stockout'] } }), 'world.runpod.create[0]'],
    [world({ runpod: { create: ['ok:p1'] } }), 'world.runpod.create[0]'],
    [world({ runpod: { list: 'lags' } }), 'world.runpod.list'],
    [world({ runpod: { probe: 'gone' } }), 'world.runpod.probe'],
    [world({ aws: {} }), 'world'],
    [expects({}), 'expect'],
    [expects({ outcome: 'fine' }), 'expect.outcome'],
    [expects({ outcome: 'blocked', reason: 'auto_fallback_runpod' }), 'expect.reason'],
    [expects({ redrivable: true, reason: 'setup_failure' }), 'expect.reason'],
    [expects({ prompts: -1 }), 'expect.prompts'],
    [expects({ untouched: ['P1', 'P1'] }), 'expect.untouched'],
    [expects({ evidence: {} }), 'expect.evidence'],
    [expects({ events_include: ['boom'] }), 'expect.events_include[0]'],
  ])('%j', (change, member) => {
    const text = JSON.stringify([{ ...GOOD, ...change }]);
    expect(isBySchema(JSON.parse(text))).toBe(false);
    expect(() => parseScenarios(text)).toThrow(BadScenario);
    const name = `scenario ${'id' in change ? change.id : 'TST-01'}: ${member}: `;
    expect(() => parseScenarios(text)).toThrow(name);
  });
});

describe('what SCHEMA.json allows is taken', () => {
  test.each<object>([
    {},
    { note: 'for the reader' },
    { t0: '2026-01-05T22:00:00Z' },
    plan({}),
    plan({ terminal: null, workload: null, budget_s: null }),
    plan({ workload: { arguments: ['a'] } }),
    plan({ limits: { queue_wait_s: 0.5, creates_per_day: 1 } }),
    world({ runpod: { list: 'lags:100', pods: [POD] } }),
    observe({ log_age_s: null, port: null, create_operation: 'failed', create_error: { code: 'x' } }),
    step({ world: {} }),
    step({ together: [{ restart: {} }, { pods: [] }] }),
    expects({ failure_class: null }),
    expects({ outcome: 'blocked' }),
  ])('%j', (change) => {
    const scenarios = [{ ...GOOD, ...change }];
    expect(isBySchema(scenarios)).toBe(true);
    expect(parseScenarios(JSON.stringify(scenarios))).toHaveLength(1);
  });
});

test('only the mark of an ambiguous scenario goes beyond SCHEMA.json', () => {
  expect(parseScenarios(JSON.stringify([{ ...GOOD, ambiguous: true }]))[0]?.ambiguous).toBe(true);
});
