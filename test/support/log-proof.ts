import { z } from 'zod';
import type { RecordedEvent } from '#events/envelope';
import type { LoadReport } from './load.ts';

const Meta = z.object({ causedBy: z.string().nullable() });
const Reported = z.object({ attemptIdDigest: z.string().nullish() });

const DECIDED_INPUTS: Readonly<Record<string, 'attempt' | 'observation'>> = {
  AttemptReported: 'attempt',
  ObservationReported: 'observation',
};

/** What a load must have left behind. Each function returns one sentence a fault; none = proven. */

/**
 * Each answered attempt is in the log exactly once, and nothing is there that nobody sent. `rows` = the whole
 * log, or all rows since the load began when nothing else was reporting.
 */
export function answeredOnce(report: LoadReport, rows: readonly RecordedEvent[]): readonly string[] {
  const recorded = countsBy(reportedIn(rows), (row) => row.eventId);
  const acknowledged = [...report.answered, ...report.unanswered];
  const named = countsBy(report.answered, (answer) => answer.eventId);
  const perAttemptId = countsBy(reportedIn(rows), attemptIdDigestOf);
  perAttemptId.delete('');
  const total = [...recorded.values()].reduce((sum, count) => sum + count, 0);
  return [
    ...acknowledged.flatMap((attempt) =>
      attempt.eventIds.length > 1
        ? [`attempt ${attempt.attemptId} was given ${attempt.eventIds.length} event ids`]
        : [],
    ),
    ...acknowledged.flatMap((attempt) =>
      attempt.eventIds.flatMap((eventId) => {
        const count = recorded.get(eventId) ?? 0;
        return count === 1
          ? []
          : [`attempt ${attempt.attemptId} is in the log ${count} times, expected once`];
      }),
    ),
    ...[...named].flatMap(([eventId, count]) =>
      count > 1 ? [`event ${eventId} answered ${count} attempts`] : [],
    ),
    ...[...perAttemptId].flatMap(([digest, count]) =>
      count > 1 ? [`the attempt id with digest ${digest} is in the log ${count} times, expected once`] : [],
    ),
    ...(total > report.sent ? [`the log holds ${total} attempts, but ${report.sent} were sent`] : []),
  ];
}

/**
 * Each attempt in the log is decided exactly once and each observation judged once (at most once if
 * `stillRunning`), after it was recorded.
 */
export function decidedOnce(rows: readonly RecordedEvent[], stillRunning = false): readonly string[] {
  const decisions = new Map<string, RecordedEvent[]>();
  for (const row of rows) {
    const { causedBy } = Meta.parse(JSON.parse(row.meta));
    if (causedBy === null) continue;
    const known = decisions.get(causedBy);
    if (known === undefined) decisions.set(causedBy, [row]);
    else known.push(row);
  }
  return rows.flatMap((input) => {
    const noun = DECIDED_INPUTS[input.type];
    if (noun === undefined) return [];
    const caused = decisions.get(input.eventId) ?? [];
    // What follows from a judgement stands in its command and names the same cause.
    const made = noun === 'attempt' ? caused : caused.filter((row) => row.type === 'ObservationJudged');
    if (made.length === 0 && stillRunning) return [];
    if (made.length !== 1)
      return [`the ${noun} at ${input.pos} was decided ${made.length} times, expected once`];
    return made.flatMap((decision) => [
      ...(decision.pos > input.pos
        ? []
        : [`the decision at ${decision.pos} stands before its ${noun} at ${input.pos}`]),
      ...(decision.stream === input.stream
        ? []
        : [`the decision at ${decision.pos} is in another stream than its ${noun}`]),
    ]);
  });
}

/** Positions are dense from 1, and stream and decision versions have no gap: nothing was lost or forked. */
export function denseLog(rows: readonly RecordedEvent[]): readonly string[] {
  const streams = new Map<string, { version: number; decisions: number }>();
  return rows.flatMap((row, index) => {
    const before = streams.get(row.stream) ?? { version: 0, decisions: 0 };
    streams.set(row.stream, { version: row.streamVersion, decisions: row.decisionVersion });
    const step = row.decisionVersion - before.decisions;
    return [
      ...(row.pos === index + 1 ? [] : [`row ${index + 1} of the log has position ${row.pos}`]),
      ...(row.streamVersion === before.version + 1
        ? []
        : [`version ${row.streamVersion} follows ${before.version} at ${row.pos}`]),
      ...(step === 0 || step === 1
        ? []
        : [`decision version ${row.decisionVersion} follows ${before.decisions} at ${row.pos}`]),
    ];
  });
}

/** The p-th percentile (0 to 100) of the latencies, in milliseconds; 0 without answers. */
export function latencyPercentile(report: LoadReport, percent: number): number {
  const sorted = report.answered.map((answer) => answer.latencyMs).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((percent / 100) * sorted.length))] ?? 0;
}

function reportedIn(rows: readonly RecordedEvent[]): readonly RecordedEvent[] {
  return rows.filter((row) => row.type === 'AttemptReported');
}

function attemptIdDigestOf(row: RecordedEvent): string {
  return Reported.parse(JSON.parse(row.body)).attemptIdDigest ?? '';
}

function countsBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
