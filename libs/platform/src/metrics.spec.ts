import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';

test('every series of a counter is there before its first event', async () => {
  const metrics = new Metrics('ingest');
  metrics.counter('spillway_attempts_total', 'Attempts by outcome.', { outcome: ['taken', 'refused'] });
  const text = await metrics.text();
  expect(text).toContain('spillway_attempts_total{outcome="taken",app="ingest"} 0');
  expect(text).toContain('spillway_attempts_total{outcome="refused",app="ingest"} 0');
});

test('counts, sets and observes', async () => {
  const metrics = new Metrics('ingest');
  const attempts = metrics.counter('attempts_total', 'Attempts.', { outcome: ['taken', 'refused'] });
  attempts.add({ outcome: 'taken' });
  attempts.add({ outcome: 'taken' }, 2);
  metrics.gauge('lag_seconds', 'Lag.', {}).set({}, 1.5);
  metrics.histogram('wait_seconds', 'Wait.', {}, [0.1, 1]).observe({}, 0.5);
  const text = await metrics.text();
  expect(text).toContain('attempts_total{outcome="taken",app="ingest"} 3');
  expect(text).toContain('lag_seconds{app="ingest"} 1.5');
  expect(text).toContain('wait_seconds_bucket{le="1",app="ingest"} 1');
});

test('a value outside the set becomes "other", never a label', async () => {
  const metrics = new Metrics('ingest');
  const attempts = metrics.counter('attempts_total', 'Attempts.', { outcome: ['taken'] });
  const smuggled = JSON.parse('{"outcome":"team-a/finetune-7","name":"team-a/finetune-7"}');
  attempts.add(smuggled);
  const text = await metrics.text();
  expect(text).toContain('attempts_total{outcome="other",app="ingest"} 1');
  expect(text).not.toContain('team-a');
});

test('two instances do not share series', async () => {
  new Metrics('a').counter('shared_total', 'x', {}).add({});
  const other = new Metrics('b');
  other.counter('shared_total', 'x', {});
  expect(await other.text()).toContain('shared_total{app="b"} 0');
});
