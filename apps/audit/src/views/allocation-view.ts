import { NOTHING_RECORDED } from '#domain/audit/audited-state';
import { barsOf, type Chart, drawn, EMPTY_CHART } from '#domain/audit/bars';
import { stateView } from '#domain/audit/state-view';
import type { AllocationLine, AllocationView } from '#domain/audit/views';
import { refOfStream } from '#events/streams';
import { NewestSteps } from './newest-steps.ts';
import { UnsealedLines, type Unsealer } from './story-lines.ts';
import { followStream, STREAM_BEGIN, type StreamReader, type StreamStep } from './stream-states.ts';

export const LINES_DEFAULT = 500;
export const LINES_MAX = 2_000;

export interface AllocationViewOptions {
  /** At most so many of the newest lines, 1 to LINES_MAX. */
  readonly limit: number;
  /** Only lines of events before this position. */
  readonly before?: number | undefined;
  /** Moment of the view. */
  readonly at: string;
  /** Absent = the caller may not unseal. */
  readonly unsealer: Unsealer | null;
}

/**
 * One allocation as the page shows it: its story with the state after every line, and the bars of its whole life.
 * Null when the log has nothing of it. Memory is bounded by `limit`; time grows with the length of the story.
 */
export async function allocationView(
  log: StreamReader,
  stream: string,
  options: AllocationViewOptions,
): Promise<AllocationView | null> {
  const ref = refOfStream(stream);
  if (ref === null) return null;
  const taken = new NewestSteps<StreamStep>(options.limit, options.before);
  let chart: Chart = EMPTY_CHART;
  let upTo = 0;
  let now: Pick<StreamStep, 'state' | 'unreadable'> = { state: NOTHING_RECORDED, unreadable: null };
  await followStream(log, stream, STREAM_BEGIN, (step) => {
    upTo = step.row.pos;
    now = step;
    chart = drawn(chart, step.state);
    taken.offer(step);
  });
  if (upTo === 0) return null;
  const { unsealer, at } = options;
  const lines = await linesOf(taken.steps(), unsealer);
  return {
    ref,
    ...(unsealer === null ? {} : { name: await unsealer.open(stream, 'name', ref) }),
    erased: now.state.erased,
    upTo,
    at,
    now: stateView(now.state, at, now.unreadable),
    lines,
    bars: barsOf(chart),
    earlier: taken.leftOut ? (lines[0]?.pos ?? null) : null,
  };
}

async function linesOf(
  steps: readonly StreamStep[],
  unsealer: Unsealer | null,
): Promise<readonly AllocationLine[]> {
  const told = new UnsealedLines(unsealer);
  const lines: AllocationLine[] = [];
  for (const step of steps) {
    lines.push({
      ...(await told.line(step)),
      state: stateView(step.state, step.row.recordedAt, step.unreadable),
    });
  }
  return lines;
}
