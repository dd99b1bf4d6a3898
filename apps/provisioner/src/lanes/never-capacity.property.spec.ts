import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LaneCall } from '#domain/provision/lane';
import { gcpVerdict } from './gcp/failure-table.ts';
import { kubernetesVerdict } from './kubernetes/failure-table.ts';
import { runpodVerdict } from './runpod/failure-table.ts';

const SHORTAGES = [
  'There are no longer any instances available with the requested specifications.',
  'not enough resources',
  'ZONE_RESOURCE_POOL_EXHAUSTED',
  'stockout',
  'quota exceeded',
];
const text = fc.oneof(fc.constantFrom(...SHORTAGES), fc.string());
const status = fc.integer({ min: 100, max: 599 });
const call = fc.constantFrom<LaneCall>('create', 'list', 'get', 'terminate', 'probe_lane');
/** What a provider, a proxy or nobody in particular may have written. */
const body = (code: number) =>
  fc.oneof(
    fc.constant(undefined),
    fc.anything(),
    text.map((detail) => ({ title: 't', status: code, detail })),
    text.map((message) => ({ error: { code, message, errors: [] } })),
    text.map((message) => ({ kind: 'Status', message, reason: '', code })),
  );
const answer = status.chain((code) => fc.tuple(fc.constant(code), body(code), call));
const REPORT = { numRuns: 2_000, verbose: 0 } as const;

/** Whatever comes over the wire; fast-check prints the seed of a run that fails. */
describe('whatever the text says', () => {
  test('runpod: only a 400 of a create is ever a shortage, and a 5xx of a create is always unknown', () => {
    fc.assert(
      fc.property(answer, ([code, json, asked]) => {
        const { kind } = runpodVerdict(asked, code, json, 'api.runpod.io');
        if (kind === 'capacity') expect([code, asked]).toEqual([400, 'create']);
        if (code >= 500 && asked === 'create') expect(kind).toBe('outcome_unknown');
        expect(kind).not.toBe('quota');
      }),
      REPORT,
    );
  });

  test('gcp: without a code there is no shortage and no quota', () => {
    fc.assert(
      fc.property(answer, ([code, json, asked]) => {
        const { kind } = gcpVerdict(asked, code, json);
        expect(['capacity', 'quota']).not.toContain(kind);
        if (code >= 500 && asked === 'create') expect(kind).toBe('outcome_unknown');
      }),
      REPORT,
    );
  });

  test('kubernetes: no answer is a shortage, and only a 403 is a quota', () => {
    fc.assert(
      fc.property(answer, ([code, json, asked]) => {
        const { kind } = kubernetesVerdict(asked, code, json);
        expect(kind).not.toBe('capacity');
        if (kind === 'quota') expect(code).toBe(403);
        if (code >= 500 && asked === 'create') expect(kind).toBe('outcome_unknown');
      }),
      REPORT,
    );
  });

  test('not_found is a structured 404 of a call that does not make anything', () => {
    fc.assert(
      fc.property(answer, ([code, json, asked]) => {
        for (const verdict of [
          runpodVerdict(asked, code, json, 'h'),
          gcpVerdict(asked, code, json),
          kubernetesVerdict(asked, code, json),
        ]) {
          if (verdict.kind !== 'not_found') continue;
          expect(code).toBe(404);
          expect(asked).not.toBe('create');
          expect(json).toBeTypeOf('object');
        }
      }),
      REPORT,
    );
  });
});
