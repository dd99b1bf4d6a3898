import { barsOf, drawn } from '#domain/audit/bars';
import { stateView } from '#domain/audit/state-view';
import type { AllocationLine, AllocationView } from '#domain/audit/views';
import { refOfStream } from '#events/streams';
import { NewestSteps } from './newest-steps.ts';
import { UnsealedLines, type Unsealer } from './story-lines.ts';
import { STORY_BEGIN, type StoryPlaces } from './story-places.ts';
import { followStream, type StreamReader, type StreamStep } from './stream-states.ts';

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
  /** Where earlier looks at long stories have come by; absent = the story is folded from its begin. */
  readonly places?: StoryPlaces;
}

/**
 * One allocation as the page shows it: its story with the state after every line, and the bars of its whole life.
 * Null when the log has nothing of it. Memory is bounded by `limit`. The time of a first look grows with the length
 * of the story, that of the next ones does not.
 */
export async function allocationView(
  log: StreamReader,
  stream: string,
  options: AllocationViewOptions,
): Promise<AllocationView | null> {
  const ref = refOfStream(stream);
  if (ref === null) return null;
  const taken = new NewestSteps<StreamStep>(options.limit, options.before);
  const { places, limit, before } = options;
  // One row more than is shown, to know that there are earlier ones.
  const from = (await places?.before(log, stream, limit + 1, before)) ?? STORY_BEGIN;
  let { chart, pos: upTo } = from;
  let now: Pick<StreamStep, 'state' | 'unreadable'> = from;
  await followStream(log, stream, from, (step) => {
    const { row, state, unreadable } = step;
    upTo = row.pos;
    now = step;
    chart = drawn(chart, state);
    taken.offer(step);
    const { streamVersion, hash } = row;
    places?.keep(stream, { state, unreadable, streamVersion, chart, pos: upTo, hash });
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
