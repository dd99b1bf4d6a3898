import type { StoryLine } from '#domain/audit/timeline';
import { refOfStream } from '#events/streams';
import { NewestSteps } from './views/newest-steps.ts';
import { UnsealedLines, type Unsealer } from './views/story-lines.ts';
import { followStream, STREAM_BEGIN, type StreamReader, type StreamStep } from './views/stream-states.ts';

export interface Story {
  readonly ref: string;
  /** The logical name, only if it was unsealed; null = it is gone. */
  readonly name?: string | null;
  /** Position of the last event that is told: the story is complete up to it. */
  readonly upTo: number;
  readonly lines: readonly StoryLine[];
  /** Older lines were left out: ask for those before this position. */
  readonly earlier?: number;
}

export interface StoryPage {
  /** At most so many of the newest lines. Absent = all of them. */
  readonly limit?: number | undefined;
  /** Only events before this position. */
  readonly before?: number | undefined;
}

/**
 * The story of one allocation in the order of the log; null when the log has nothing of it. With an unsealer also
 * what callers wrote (fallback 7). Without a page it is the whole story.
 */
export async function timeline(
  log: StreamReader,
  stream: string,
  unsealer: Unsealer | null = null,
  { limit, before }: StoryPage = {},
): Promise<Story | null> {
  const ref = refOfStream(stream);
  if (ref === null) return null;
  const taken = new NewestSteps<Pick<StreamStep, 'row' | 'event'>>(limit, before);
  await followStream(
    log,
    stream,
    STREAM_BEGIN,
    ({ row, event }) => taken.offer({ row, event }),
    before === undefined ? undefined : before - 1,
  );
  const told = new UnsealedLines(unsealer);
  const lines: StoryLine[] = [];
  for (const step of taken.steps()) lines.push(await told.line(step));
  const [first, end] = [lines[0], lines.at(-1)];
  if (first === undefined || end === undefined) return null;
  return {
    ref,
    ...(unsealer === null ? {} : { name: await unsealer.open(stream, 'name', ref) }),
    upTo: end.pos,
    lines,
    ...(taken.leftOut ? { earlier: first.pos } : {}),
  };
}
