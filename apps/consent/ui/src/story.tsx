import type { JSX } from 'preact';
import { Fragment } from 'preact';
import { useMemo } from 'preact/hooks';
import type { AllocationLine } from '#domain/audit/views';
import { Because } from './because.tsx';
import { type Chapter, chaptersOf, type QuietStretch } from './chapters.ts';
import type { AsOf } from './route.ts';
import { day, instant, timeOfDay } from './words.ts';

interface StoryProps {
  readonly lines: readonly AllocationLine[];
  /** The line whose state is shown; null = the state now is. */
  readonly chosen: AllocationLine | null;
  readonly look: (next: AsOf) => void;
}

/** What happened, in chapters: what came in, and below it what was made of it. */
export function Story({ lines, chosen, look }: StoryProps): JSX.Element {
  const story = useMemo(() => chaptersOf(lines), [lines]);
  let shownDay = '';
  return (
    <div class="chapters">
      {story.map((part) => {
        const first = firstOf(part);
        const today = first === undefined ? shownDay : day(first.at);
        const isNewDay = today !== shownDay;
        shownDay = today;
        return (
          <Fragment key={`${part.kind} ${first?.pos ?? 0}`}>
            {isNewDay ? <h3 class="day">{today}</h3> : null}
            {part.kind === 'told' ? (
              <ChapterOf chapter={part} chosen={chosen} look={look} />
            ) : (
              <Quiet stretch={part} chosen={chosen} look={look} />
            )}
          </Fragment>
        );
      })}
    </div>
  );
}

function firstOf(part: Chapter | QuietStretch): AllocationLine | undefined {
  return part.kind === 'told' ? part.lines[0] : part.chapters[0]?.lines[0];
}

interface QuietProps extends Omit<StoryProps, 'lines'> {
  readonly stretch: QuietStretch;
}

function Quiet({ stretch, chosen, look }: QuietProps): JSX.Element {
  const last = stretch.chapters.at(-1)?.lines.at(-1);
  const isChosenInside =
    chosen !== null && stretch.chapters.some(({ lines }) => lines.some(({ pos }) => pos === chosen.pos));
  return (
    <details class="quiet" open={isChosenInside}>
      <summary>
        {stretch.chapters.length} reports in a row changed nothing
        {last === undefined ? '' : `, the last at ${timeOfDay(last.at)}`}
      </summary>
      {stretch.chapters.map((chapter) => (
        <ChapterOf key={chapter.lines[0]?.pos ?? 0} chapter={chapter} chosen={chosen} look={look} />
      ))}
    </details>
  );
}

interface ChapterProps extends Omit<StoryProps, 'lines'> {
  readonly chapter: Chapter;
}

function ChapterOf({ chapter, chosen, look }: ChapterProps): JSX.Element {
  return (
    <ol class="chapter">
      {chapter.lines.map((line) => (
        <Line key={line.pos} line={line} isChosen={chosen?.pos === line.pos} look={look} />
      ))}
    </ol>
  );
}

interface LineProps {
  readonly line: AllocationLine;
  readonly isChosen: boolean;
  readonly look: (next: AsOf) => void;
}

function Line({ line, isChosen, look }: LineProps): JSX.Element {
  return (
    <li class={`line ${isChosen ? 'line--chosen' : ''}`}>
      <button
        type="button"
        class="line__at"
        aria-pressed={isChosen}
        title={`Show the state after this, ${instant(line.at)}`}
        onClick={() => look({ kind: 'pos', pos: line.pos })}
      >
        {timeOfDay(line.at)}
        <span class="unseen">, show the state after event {line.pos}</span>
      </button>
      <div class="line__text">
        <p title={line.machines.length === 0 ? undefined : line.machines.join('\n')}>
          <b>{line.who}</b> {line.what}
        </p>
        {isChosen ? line.machines.map((id) => <code key={id}>{id}</code>) : null}
        <Because lines={line.because} />
        {line.texts.map((text) => (
          <details key={text.kind} class="sealed">
            <summary>{SEALED[text.kind]}</summary>
            {text.text === null ? (
              <p class="absent">Erased, or past its retention.</p>
            ) : (
              <pre>{text.text}</pre>
            )}
          </details>
        ))}
      </div>
      <span class="stage">{line.stage}</span>
    </li>
  );
}

const SEALED = {
  failure: 'What the provider said',
  invariants: 'The request',
  launch: 'What was to be launched',
} as const;
