import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PromptView } from '#domain/audit/views';
import { api, CallFailed } from './api.ts';
import { useNow } from './clock.ts';
import { usePage } from './page-context.ts';
import { Empty, Failed, Link, Loading, Moment, Name, ViewHeading } from './parts.tsx';
import { closedIn, expiredIn, openIn } from './prompt-book.ts';
import { Ending, QuestionCard } from './question-card.tsx';
import { questionPath } from './route.ts';
import { counted } from './words.ts';

/** So many questions are shown with all their grounds: more, and nobody finds the next one. */
const SHOWN_WHOLE = 3;

/** Questions that wait for an answer, newest first. */
export function QuestionsView(): JSX.Element {
  const { prompts } = usePage();
  const now = useNow();
  const open = openIn(prompts.book, now);
  const expired = expiredIn(prompts.book, now);

  useEffect(() => {
    // The card that had the focus may just have gone.
    if (document.activeElement === document.body && document.body.dataset.entered === 'yes') {
      document.querySelector('h1')?.focus({ preventScroll: true });
    }
  }, [open.length]);

  return (
    <>
      <div class="view-head">
        <ViewHeading>Open questions</ViewHeading>
        {prompts.loaded ? <p>{summary(open.length)}</p> : null}
      </div>
      <ListState what="the open questions" />
      {prompts.loaded && open.length === 0 ? (
        <Empty title="Nothing waits for an answer">
          A new question appears here by itself. {expiredHint(expired.length)}
        </Empty>
      ) : null}
      <div class="questions">
        {open.map((prompt, index) => (
          <QuestionCard key={prompt.originId} prompt={prompt} folded={index >= SHOWN_WHOLE} />
        ))}
      </div>
      {open.length > 0 && expired.length > 0 ? <p class="hint">{expiredHint(expired.length)}</p> : null}
    </>
  );
}

function summary(count: number): string {
  return count === 0 ? 'None at the moment.' : `${counted(count, 'question')} to answer, newest first.`;
}

function expiredHint(count: number): JSX.Element | null {
  if (count === 0) return null;
  return (
    <Link to="/history">
      {count === 1 ? 'One question expired unanswered.' : `${count} questions expired unanswered.`}
    </Link>
  );
}

function ListState({ what }: { readonly what: string }): JSX.Element | null {
  const { prompts } = usePage();
  if (prompts.failure !== null && !prompts.loaded) {
    return <Failed what={what} failure={prompts.failure} again={() => location.reload()} />;
  }
  return prompts.loaded ? null : <Loading what={what} />;
}

/** Questions that ended or expired, the newest first. */
export function HistoryView(): JSX.Element {
  const { prompts } = usePage();
  const now = useNow();
  const expired = expiredIn(prompts.book, now);
  const closed = closedIn(prompts.book);
  return (
    <>
      <div class="view-head">
        <ViewHeading>History</ViewHeading>
        <p>Questions that were answered, superseded or withdrawn, and those that expired.</p>
      </div>
      <ListState what="the history" />
      {expired.length === 0 ? null : (
        <section>
          <h2>Expired unanswered</h2>
          <p class="hint">Open one to ask it again, with a new life time, or to decline it.</p>
          <ul class="rows">
            {expired.map((prompt) => (
              <ExpiredRow key={prompt.originId} prompt={prompt} now={now} />
            ))}
          </ul>
        </section>
      )}
      {prompts.loaded && closed.length === 0 && expired.length === 0 ? (
        <Empty title="No question has ended yet">What was answered is kept here, with who and when.</Empty>
      ) : null}
      {closed.length === 0 ? null : (
        <section>
          <h2>Closed</h2>
          <ul class="rows">
            {closed.map((prompt) => (
              <li key={prompt.originId} class="row">
                <Name name={prompt.name} allocationRef={prompt.ref} />
                <Link to={questionPath(prompt.id)} class="row__main">
                  {prompt.asks}
                </Link>
                <Ending prompt={prompt} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Older />
    </>
  );
}

function ExpiredRow({ prompt, now }: { readonly prompt: PromptView; readonly now: number }): JSX.Element {
  return (
    <li class="row">
      <Name name={prompt.name} allocationRef={prompt.ref} />
      <Link to={questionPath(prompt.id)} class="row__main">
        {prompt.asks}
      </Link>
      <p class="ending">
        <span>
          Expired <Moment at={prompt.expiresAt} now={now} />.
        </span>
      </p>
    </li>
  );
}

function Older(): JSX.Element | null {
  const { prompts } = usePage();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<CallFailed | null>(null);
  if (prompts.older === null) return null;
  const load = async () => {
    setBusy(true);
    try {
      await prompts.loadOlder();
      setFailure(null);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      setFailure(error);
    }
    setBusy(false);
  };
  return (
    <p class="more">
      <button type="button" class="button" disabled={busy} onClick={() => void load()}>
        {busy ? 'Loading…' : 'Show older'}
      </button>
      {failure === null ? null : <span role="alert">{failure.message}</span>}
    </p>
  );
}

/** One question, by its link. Reading it renews it if its life time is over (fallback 6). */
export function QuestionView({ id }: { readonly id: string }): JSX.Element {
  const { prompts } = usePage();
  const { take } = prompts;
  const [read, setRead] = useState<PromptView | null>(null);
  const [failure, setFailure] = useState<CallFailed | null>(null);
  const [turn, setTurn] = useState(0);

  useEffect(() => {
    let left = false;
    setFailure(null);
    api.prompt(id).then(
      (prompt) => {
        if (left) return;
        take(prompt);
        setRead(prompt);
      },
      (error: unknown) => {
        if (!left && error instanceof CallFailed) setFailure(error);
      },
    );
    return () => {
      left = true;
    };
  }, [id, take, turn]);

  const known = read === null ? inBook(prompts.book, id) : (prompts.book.get(read.originId) ?? read);
  return (
    <>
      <p class="back">
        <Link to="/">All open questions</Link>
      </p>
      {failure === null ? null : (
        <>
          <ViewHeading>Question</ViewHeading>
          <Failed what="this question" failure={failure} again={() => setTurn(turn + 1)} />
        </>
      )}
      {known === undefined && failure === null ? <Loading what="the question" /> : null}
      {known === undefined || failure !== null ? null : <QuestionCard prompt={known} alone />}
    </>
  );
}

function inBook(book: ReadonlyMap<string, PromptView>, id: string): PromptView | undefined {
  return [...book.values()].find((prompt) => prompt.id === id);
}
