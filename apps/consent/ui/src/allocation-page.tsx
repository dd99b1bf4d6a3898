import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { AllocationLine, AllocationView } from '#domain/audit/views';
import { api, CallFailed } from './api.ts';
import { lineAsOf, momentOf } from './as-of.ts';
import { AsOfSlider } from './as-of-slider.tsx';
import { useNow } from './clock.ts';
import { usePage } from './page-context.ts';
import { Chip, Failed, Link, Loading, Name, ViewHeading } from './parts.tsx';
import { openIn } from './prompt-book.ts';
import { type AsOf, allocationPath, go, questionPath } from './route.ts';
import { StatePanel } from './state-panel.tsx';
import { Story } from './story.tsx';
import { useCall } from './use-call.ts';
import { counted, short } from './words.ts';

const REFRESH_MS = 5_000;

interface AllocationPageProps {
  readonly allocationRef: string;
  readonly asOf: AsOf;
}

/** One allocation: its state as of any moment, its chart and its story. */
export function AllocationPage({ allocationRef, asOf }: AllocationPageProps): JSX.Element {
  const { value, failure, reload } = useCall(
    allocationRef,
    () => api.allocation(allocationRef, null),
    REFRESH_MS,
  );
  if (value === null) {
    return (
      <>
        <ViewHeading>Allocation {short(allocationRef)}</ViewHeading>
        {failure === null ? (
          <Loading what="the allocation" />
        ) : (
          <Failed what="this allocation" failure={failure} again={reload} />
        )}
      </>
    );
  }
  return <Allocation view={value} asOf={asOf} stale={failure !== null} />;
}

interface AllocationProps {
  readonly view: AllocationView;
  readonly asOf: AsOf;
  readonly stale: boolean;
}

function Allocation({ view, asOf, stale }: AllocationProps): JSX.Element {
  const { prompts } = usePage();
  const now = useNow();
  const earlier = useEarlier(view);
  const lines = useMemo(() => [...earlier.lines, ...view.lines], [earlier.lines, view.lines]);
  const line = lineAsOf(lines, asOf);
  const state = asOf.kind === 'now' ? view.now : (line?.state ?? null);
  const atMs = momentOf(asOf, line, now);
  const look = (next: AsOf) => go(allocationPath(view.ref, next), { replace: true });
  const question = openIn(prompts.book, now).find(({ ref }) => ref === view.ref);

  return (
    <>
      <div class="view-head">
        <ViewHeading>
          <Name name={view.name} allocationRef={view.ref} />
        </ViewHeading>
        <p class="view-head__more">
          Allocation <code>{view.ref}</code>
          {view.erased ? <Chip tone="calm">name and texts erased</Chip> : null}
        </p>
      </div>
      {question === undefined ? null : (
        <div class="notice notice--late">
          <p>A question about this allocation waits for an answer.</p>
          <Link to={questionPath(question.id)} class="button button--small">
            Answer it
          </Link>
        </div>
      )}
      {stale ? (
        <p class="hint" role="status">
          Could not be read anew: this is as of the last answer.
        </p>
      ) : null}
      <section class="panel" aria-labelledby="asof-title">
        <AsOfSlider
          lines={lines}
          bars={view.bars}
          endMs={Date.parse(view.at)}
          asOf={asOf}
          atMs={atMs}
          line={line}
          look={look}
        />
        {state === null ? (
          <p class="absent">
            {earlier.next === null
              ? 'Nothing had happened yet.'
              : 'This moment is before the part of the story that is loaded.'}
          </p>
        ) : (
          <StatePanel state={state} atMs={atMs} live={asOf.kind === 'now'} />
        )}
      </section>
      <section class="story" aria-labelledby="story-title">
        <div class="view-head">
          <h2 id="story-title">Story</h2>
          <p>{counted(lines.length, 'event')}, oldest first. Choose a time to see the state after it.</p>
        </div>
        <EarlierButton earlier={earlier} />
        <Story lines={lines} chosen={asOf.kind === 'now' ? null : line} look={look} />
      </section>
    </>
  );
}

interface Earlier {
  readonly lines: readonly AllocationLine[];
  readonly next: number | null;
  readonly busy: boolean;
  readonly failure: CallFailed | null;
  readonly load: () => Promise<void>;
}

/** Older lines, a page at a time, when they are asked for. */
function useEarlier(view: AllocationView): Earlier {
  const [lines, setLines] = useState<readonly AllocationLine[]>([]);
  const [next, setNext] = useState(view.earlier);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<CallFailed | null>(null);
  const oldest = view.lines[0]?.pos ?? Number.POSITIVE_INFINITY;
  const load = async () => {
    setBusy(true);
    try {
      const page = await api.allocation(view.ref, next);
      setLines((later) => [...page.lines, ...later]);
      setNext(page.earlier);
      setFailure(null);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      setFailure(error);
    }
    setBusy(false);
  };
  return { lines: lines.filter(({ pos }) => pos < oldest), next, busy, failure, load };
}

function EarlierButton({ earlier }: { readonly earlier: Earlier }): JSX.Element | null {
  if (earlier.next === null) return null;
  return (
    <p class="more">
      <button type="button" class="button" disabled={earlier.busy} onClick={() => void earlier.load()}>
        {earlier.busy ? 'Loading…' : 'Show what happened earlier'}
      </button>
      {earlier.failure === null ? null : <span role="alert">{earlier.failure.message}</span>}
    </p>
  );
}
