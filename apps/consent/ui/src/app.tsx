import type { JSX } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { AllocationPage } from './allocation-page.tsx';
import { api } from './api.ts';
import { useNow } from './clock.ts';
import { Notes } from './notes.tsx';
import { OverviewPage } from './overview-page.tsx';
import { PageProvider } from './page-context.ts';
import { Failed, Link, Loading, ViewHeading } from './parts.tsx';
import { openIn, type PromptBook } from './prompt-book.ts';
import { HistoryView, QuestionsView, QuestionView } from './questions-view.tsx';
import { type Route, useRoute } from './route.ts';
import type { Connection } from './stream.ts';
import { useCall } from './use-call.ts';
import { usePrompts } from './use-prompts.ts';

/** The whole page. */
export function App(): JSX.Element {
  const route = useRoute();
  const me = useCall('me', api.me);
  const prompts = usePrompts();

  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header route={route} book={prompts.book} />
      {me.value !== null && !me.value.authenticated ? (
        <aside class="banner" aria-label="Authentication">
          <strong>Authentication is off:</strong> everyone here is <code>local</code> and may do everything.
        </aside>
      ) : null}
      <ConnectionState connection={prompts.connection} />
      <p class="unseen" aria-live="polite">
        {prompts.told}
      </p>
      <main id="main" tabIndex={-1}>
        <Notes notes={prompts.notes} dismiss={prompts.dismiss} />
        {me.value === null && me.failure === null ? <Loading what="the page" /> : null}
        {me.value === null && me.failure !== null ? (
          <Failed what="this page" failure={me.failure} again={me.reload} />
        ) : null}
        {me.value === null ? null : (
          <PageProvider value={{ caller: me.value, prompts }}>
            <Guarded key={keyOf(route)} route={route} />
          </PageProvider>
        )}
      </main>
      <footer class="foot">
        <span>Times are UTC.</span>
        {me.value === null ? null : (
          <span>
            You are <code>{me.value.subject}</code>.
          </span>
        )}
      </footer>
    </>
  );
}

/** Another subject is another view, with a focus and a state of its own; another moment of it is not. */
function keyOf(route: Route): string {
  switch (route.view) {
    case 'question':
      return `question ${route.id}`;
    case 'allocation':
      return `allocation ${route.ref}`;
    default:
      return route.view;
  }
}

const VIEWS = [
  { path: '/', view: 'questions', label: 'Questions' },
  { path: '/history', view: 'history', label: 'History' },
  { path: '/overview', view: 'overview', label: 'Overview' },
] as const;

function Header({ route, book }: { readonly route: Route; readonly book: PromptBook }): JSX.Element {
  const openCount = openIn(book, useNow()).length;
  useTitle(route, openCount);
  return (
    <header class="top">
      <Link to="/" class="top__mark" label="Spillway: open questions">
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
          <rect width="32" height="32" rx="8" class="mark__ground" />
          <path d="M6 11h8c4 0 4 11 12 11" class="mark__over" />
          <path d="M6 17h5c3 0 4 8 9 8" class="mark__under" />
        </svg>
        <span>Spillway</span>
      </Link>
      <nav aria-label="Views">
        {VIEWS.map(({ path, view, label }) => (
          <Link key={view} to={path} current={route.view === view}>
            {label}
            {view === 'questions' && openCount > 0 ? (
              <span class="count">
                {openCount}
                <span class="unseen"> open</span>
              </span>
            ) : null}
          </Link>
        ))}
      </nav>
    </header>
  );
}

function ConnectionState({ connection }: { readonly connection: Connection }): JSX.Element {
  return (
    <div role="status">
      {connection === 'lost' ? (
        <p class="banner banner--lost">
          <strong>Connection lost.</strong> What you see may be old. Trying to connect again by itself…
        </p>
      ) : null}
    </div>
  );
}

function useTitle(route: Route, openCount: number): void {
  const count = openCount === 0 ? '' : `(${openCount}) `;
  const title = `${count}${TITLES[route.view]} · Spillway`;
  useEffect(() => {
    document.title = title;
  }, [title]);
}

const TITLES: Readonly<Record<Route['view'], string>> = {
  questions: 'Open questions',
  history: 'History',
  question: 'Question',
  overview: 'Overview',
  allocation: 'Allocation',
  unknown: 'Not found',
};

/** A fault of ours in one view leaves the rest of the page usable. */
function Guarded({ route }: { readonly route: Route }): JSX.Element {
  const [error] = useErrorBoundary();
  if (error !== undefined) {
    return (
      <div class="notice notice--bad" role="alert">
        <p>
          <strong>This view cannot be shown.</strong> The page may be older than the server.
        </p>
        <button type="button" class="button" onClick={() => location.reload()}>
          Load the page anew
        </button>
      </div>
    );
  }
  return <View route={route} />;
}

function View({ route }: { readonly route: Route }): JSX.Element {
  switch (route.view) {
    case 'questions':
      return <QuestionsView />;
    case 'history':
      return <HistoryView />;
    case 'question':
      return <QuestionView id={route.id} />;
    case 'overview':
      return <OverviewPage filters={route.filters} />;
    case 'allocation':
      return <AllocationPage allocationRef={route.ref} asOf={route.asOf} />;
    case 'unknown':
      return (
        <>
          <ViewHeading>There is no such page</ViewHeading>
          <p>
            <Link to="/">Open questions</Link>
          </p>
        </>
      );
  }
}
