import { describe, expect, test } from 'vitest';
import type { BarView } from '#domain/audit/views';
import { barWords, chartRows } from './chart-rows.ts';

const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00.000Z`;
const bar = (track: string, from: number, to: number | null, label = 'x'): BarView => ({
  track,
  label,
  tone: 'calm',
  from: at(from),
  to: to === null ? null : at(to),
});

describe('rows of the chart', () => {
  test('people first, what is on its way last, lanes between in the order in which they were used', () => {
    const tracks = ['intents', 'lane runpod', 'lane gcp', 'placement', 'record', 'questions'];
    expect(chartRows(tracks.map((track) => bar(track, 1, 2))).map(({ track }) => track)).toEqual([
      'questions',
      'record',
      'placement',
      'lane runpod',
      'lane gcp',
      'intents',
    ]);
  });

  test('bars that follow each other share a row, those that overlap do not', () => {
    const rows = chartRows([bar('lane a', 0, 5), bar('lane a', 5, null), bar('lane a', 6, 7)]);
    expect(rows.map(({ bars, first }) => [bars.length, first])).toEqual([
      [2, true],
      [1, false],
    ]);
  });
});

test.each([
  ['lane gcp', 'us-central1-a/sw-test-1/167: not_found', 'not found, 167'],
  ['lane gcp', 'something else', 'something else'],
  [
    'placement',
    'awaiting_consent: gcp_queue_vanish_failover_runpod',
    'awaiting consent: gcp_queue_vanish_failover_runpod',
  ],
  ['record', 'awaiting-consent, on-demand', 'awaiting consent, on demand'],
])('of %s, “%s” is written as “%s”', (track, label, words) => {
  expect(barWords(bar(track, 0, 1, label))).toBe(words);
});
