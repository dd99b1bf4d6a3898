import type { AllocationLine } from '#domain/audit/views';

/** What came in, and what was made of it. */
export interface Chapter {
  readonly kind: 'told';
  readonly lines: readonly AllocationLine[];
}

/** Reports one after the other that changed nothing. */
export interface QuietStretch {
  readonly kind: 'quiet';
  readonly chapters: readonly Chapter[];
}

/** Inputs: each begins a chapter. */
const INPUTS = ['AttemptReported', 'ObservationReported', 'LaunchRequested', 'ConsentAnswered'];
/** Fewer are not worth hiding. */
const HIDDEN_FROM = 3;

/** A story in chapters, oldest first; long runs of reports that changed nothing are one stretch. */
export function chaptersOf(lines: readonly AllocationLine[]): readonly (Chapter | QuietStretch)[] {
  const told: Chapter[] = [];
  for (const line of lines) {
    const chapter = told.at(-1);
    if (chapter === undefined || INPUTS.includes(line.type)) told.push({ kind: 'told', lines: [line] });
    else told[told.length - 1] = { kind: 'told', lines: [...chapter.lines, line] };
  }
  return folded(told);
}

function folded(told: readonly Chapter[]): readonly (Chapter | QuietStretch)[] {
  const story: (Chapter | QuietStretch)[] = [];
  let quiet: Chapter[] = [];
  let before: AllocationLine | undefined;
  const flush = () => {
    if (quiet.length >= HIDDEN_FROM) story.push({ kind: 'quiet', chapters: quiet });
    else story.push(...quiet);
    quiet = [];
  };
  for (const chapter of told) {
    if (isQuiet(chapter, before)) {
      quiet.push(chapter);
    } else {
      flush();
      story.push(chapter);
    }
    before = chapter.lines.at(-1) ?? before;
  }
  flush();
  return story;
}

function isQuiet({ lines }: Chapter, before: AllocationLine | undefined): boolean {
  if (before === undefined || lines[0]?.type !== 'ObservationReported') return false;
  const known = essence(before);
  return lines.every((line) => line.type.startsWith('Observation') && essence(line) === known);
}

/** What a reader of the story would call a change: not when the provider was last heard, nor what it cost so far. */
function essence({ state: { record, placement } }: AllocationLine): string {
  const { outcome, reason, instance, provider, openIntent, bills } = placement ?? {};
  return JSON.stringify([
    record,
    outcome,
    reason,
    instance,
    provider?.status,
    openIntent,
    bills?.map((bill) => bill.instance),
  ]);
}
