import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigError, loadConfig } from '#platform/load-config';
import { standInLanes } from '../../../../test/cloud/stand-in-lanes.ts';
import { configuredLanes, laneVariables } from './configured-lanes.ts';

const Config = z.object(laneVariables);
const load = (lanes: unknown) =>
  loadConfig(Config, { SPILLWAY_LANES: typeof lanes === 'string' ? lanes : JSON.stringify(lanes) })
    .SPILLWAY_LANES;
const problemsOf = (lanes: unknown): readonly string[] => {
  try {
    load(lanes);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ problem }) => problem);
    throw error;
  }
};

const AGENT_KEY = Buffer.alloc(32, 7).toString('base64');
const RUNPOD = {
  lane: 'runpod',
  driver: 'runpod',
  apiKey: 'rpa_hush',
  agentKey: AGENT_KEY,
  image: 'me/agent:1',
};
const GCP = { lane: 'gcp', driver: 'gcp', project: 'p', image: 'global/images/x' };
const CLUSTER = {
  lane: 'cluster',
  driver: 'kubernetes',
  kind: 'batch',
  server: 'https://k8s',
  token: 'hush',
  image: 'me/w:1',
};

describe('SPILLWAY_LANES', () => {
  test('gives a driver per lane, each with its kind', () => {
    const lanes = configuredLanes(load([RUNPOD, GCP, CLUSTER]));
    expect([...lanes].map(([name, { facts }]) => [name, facts.lane, facts.provider, facts.kind])).toEqual([
      ['runpod', 'runpod', 'runpod', 'terminal'],
      ['gcp', 'gcp', 'gcp', 'primary'],
      ['cluster', 'cluster', 'kubernetes', 'batch'],
    ]);
  });

  test('each driver declares its grace, deadline and idempotency (providers 1)', () => {
    const lanes = configuredLanes(load([RUNPOD, GCP, CLUSTER]));
    expect([...lanes.values()].map(({ facts }) => facts)).toMatchObject([
      { listingGraceMs: 120_000, createDeadlineMs: 30_000, idempotentCreate: false, queueingPools: [] },
      {
        listingGraceMs: 30_000,
        createDeadlineMs: 30_000,
        idempotentCreate: true,
        queueingPools: ['flex-start'],
      },
      { listingGraceMs: 0, createDeadlineMs: 30_000, idempotentCreate: true },
    ]);
  });

  test('what the stand-in is configured with can be read', () => {
    const lanes = configuredLanes(load(standInLanes('http://127.0.0.1:1')));
    expect([...lanes.keys()]).toEqual(['gcp', 'runpod', 'kubernetes']);
  });

  test.each([
    { lanes: 'no json', says: 'has the wrong form' },
    { lanes: [], says: 'has the wrong form' },
    { lanes: [RUNPOD, { ...GCP, lane: 'runpod' }], says: 'names a lane twice' },
    { lanes: [{ ...RUNPOD, driver: 'aws' }], says: 'at 0.driver ' },
    { lanes: [{ ...RUNPOD, apiKey: '' }], says: 'at 0.apiKey ' },
    { lanes: [{ ...RUNPOD, agentKey: 'c2hvcnQ=' }], says: 'at 0.agentKey is shorter than 32 bytes' },
    { lanes: [{ ...RUNPOD, typo: 1 }], says: 'at 0 ' },
    { lanes: [{ ...GCP, createDeadlineMs: 30_001 }], says: 'at 0.createDeadlineMs ' },
    { lanes: [{ ...GCP, queueS: 89 }], says: 'at 0.queueS is not 0, nor 90 to 7200' },
    { lanes: [{ ...GCP, baseUrl: 'ftp://x' }], says: 'at 0.baseUrl ' },
    { lanes: [{ ...CLUSTER, token: null }], says: 'needs server and token together' },
    { lanes: [{ ...CLUSTER, kind: 'terminal' }], says: 'at 0.kind ' },
  ])('is refused: $says', ({ lanes, says }) => {
    expect(problemsOf(lanes).join('\n')).toContain(says);
  });

  test('no refusal quotes a secret, and none is shown by a print', () => {
    const wrong = problemsOf([
      { ...RUNPOD, apiKey: 'rpa_hush', image: 3 },
      { ...CLUSTER, token: 17 },
    ]).join('\n');
    expect(wrong).not.toContain('rpa_hush');
    expect(JSON.stringify(load([RUNPOD, CLUSTER]))).not.toMatch(/rpa_hush|"hush"|Bwc/);
  });
});
