import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { CallFailed } from './api.ts';
import { nowMs } from './clock.ts';
import { go } from './route.ts';
import { ago, instant, short } from './words.ts';

interface LinkProps {
  readonly to: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly current?: boolean;
  readonly label?: string;
}

/** A link within the page; with a modifier key it is the browser's. */
export function Link({ to, children, class: name, current, label }: LinkProps): JSX.Element {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a
      href={to}
      class={name}
      aria-current={current === true ? 'page' : undefined}
      aria-label={label}
      onClick={follow}
    >
      {children}
    </a>
  );
}

interface NameProps {
  /** Absent = not for this caller, null = erased (fallback 7). */
  readonly name: string | null | undefined;
  readonly allocationRef: string;
}

/** An allocation as this caller may know it. Whatever it is called, it is shown as text. */
export function Name({ name, allocationRef }: NameProps): JSX.Element {
  if (typeof name === 'string') return <bdi class="name">{name}</bdi>;
  return (
    <span class="name name--absent" title={allocationRef}>
      <span class="name__why">{name === null ? 'name erased' : 'name hidden'}</span>
      <code>{short(allocationRef)}</code>
    </span>
  );
}

/** A moment: how long ago, with the exact instant behind it. */
export function Moment({ at, now = nowMs() }: { readonly at: string; readonly now?: number }): JSX.Element {
  return (
    <time dateTime={at} title={instant(at)}>
      {ago(now - Date.parse(at))}
    </time>
  );
}

/** The heading of a view takes the focus when the view is entered, so that a reader begins there. */
export function ViewHeading({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // On the first view of a visit the browser's own place is the right one.
    if (document.activeElement !== document.body || document.body.dataset.entered === 'yes') {
      heading.current?.focus({ preventScroll: true });
      scrollTo({ top: 0 });
    }
    document.body.dataset.entered = 'yes';
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

export function Loading({ what }: { readonly what: string }): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="loading__bar" aria-hidden="true" />
      <span class="loading__bar" aria-hidden="true" />
      <span class="loading__bar" aria-hidden="true" />
      <span class="unseen">Loading {what}</span>
    </div>
  );
}

interface FailedProps {
  readonly what: string;
  readonly failure: CallFailed;
  readonly again: () => void;
}

/** A call that failed, in words that say what helps. */
export function Failed({ what, failure, again }: FailedProps): JSX.Element {
  return (
    <div class="notice notice--bad" role="alert">
      <p>
        <strong>{headline(what, failure)}</strong> {advice(failure)}
      </p>
      {failure.status === 403 || failure.status === 404 ? null : (
        <button type="button" class="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

function headline(what: string, { status }: CallFailed): string {
  if (status === 403) return `You may not see ${what}.`;
  if (status === 404) return `There is no such thing as ${what}.`;
  return `Could not load ${what}.`;
}

function advice({ status, message }: CallFailed): string {
  if (status === 401) return 'You are not signed in, or no longer.';
  if (status === 404) return 'The link may be cut off, or belong to another deployment.';
  if (status === 503) return 'The log cannot be reached just now. Nothing is lost.';
  return message;
}

interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

export function Empty({ title, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <svg viewBox="0 0 48 48" width="48" height="48" aria-hidden="true">
        <path d="M6 16h14c7 0 6 16 22 16" />
        <path d="M6 25h9c6 0 6 12 15 12" />
      </svg>
      <p class="empty__title">{title}</p>
      {children === undefined ? null : <p class="empty__more">{children}</p>}
    </div>
  );
}

type Tone = 'calm' | 'asked' | 'moving' | 'bad' | 'good';

export function Chip({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`chip chip--${tone}`}>{children}</span>;
}
