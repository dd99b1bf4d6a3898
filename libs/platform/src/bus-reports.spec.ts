import { expect, test } from 'vitest';
import { busReports } from './bus-reports.ts';
import { createLogger } from './logger.ts';
import { Metrics } from './metrics.ts';

test('each foreign message is counted, and a flood of them is a line in ten seconds and partition', async () => {
  const clock = { nowMs: 0 };
  const lines: string[] = [];
  const logger = createLogger({
    app: 'classifier',
    deployment: 'local',
    level: 'info',
    destination: { write: (line: string) => void lines.push(line) },
  });
  const metrics = new Metrics('classifier');
  const reports = busReports(logger, metrics, {
    now: () => '2026-11-30T00:00:00.000Z',
    monotonicMs: () => clock.nowMs,
  });
  for (; clock.nowMs <= 10_000; clock.nowMs += 100) {
    reports.onForeign({ partition: 0, bodyBytes: 7 });
    reports.onForeign({ partition: 1, bodyBytes: clock.nowMs });
  }
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { event: 'foreign_bus_message', partition: 0, bytes: 7, repeats: 0 },
    { event: 'foreign_bus_message', partition: 1, bytes: 0, repeats: 0 },
    { event: 'foreign_bus_message', partition: 0, bytes: 7, repeats: 99 },
    { event: 'foreign_bus_message', partition: 1, bytes: 10_000, repeats: 99 },
  ]);
  expect(await metrics.text()).toContain('spillway_bus_foreign_total{app="classifier"} 202');
});
