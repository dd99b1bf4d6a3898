import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { InvariantView, PromptView } from '#domain/audit/views';
import { AnswerForm } from './answer-form.tsx';
import { Because } from './because.tsx';
import { useNow } from './clock.ts';
import { Chip, Link, Moment, Name } from './parts.tsx';
import { isOpen } from './prompt-book.ts';
import { allocationPath, questionPath } from './route.ts';
import { bytes, countdown, instant, minute, plain, short, timeOfDay } from './words.ts';

interface QuestionCardProps {
  readonly prompt: PromptView;
  /** On its own view the heading is the view's. */
  readonly alone?: boolean;
  /** Its grounds are shown when they are asked for: for a list that is long. */
  readonly folded?: boolean;
}

/** One question with everything that is needed to answer it. */
export function QuestionCard({ prompt, alone = false, folded = false }: QuestionCardProps): JSX.Element {
  const titleId = useId();
  const now = useNow();
  const open = isOpen(prompt, now);
  const Title = alone ? 'h1' : 'h2';
  return (
    <article class={`question ${open ? '' : 'question--over'}`} aria-labelledby={titleId}>
      <header class="question__head">
        <div class="question__tags">
          <Chip tone={open ? 'asked' : 'calm'}>{prompt.kind === 'pool' ? 'Pool change' : 'Failover'}</Chip>
          <Name name={prompt.name} allocationRef={prompt.ref} />
        </div>
        <Life prompt={prompt} now={now} />
      </header>

      <Title id={titleId} class="question__title">
        {alone ? prompt.asks : <Link to={questionPath(prompt.id)}>{prompt.asks}</Link>}
      </Title>
      <Differs differs={prompt.differs} />
      {prompt.closed === null ? <AnswerForm prompt={prompt} open={open} /> : <Ending prompt={prompt} />}

      <Grounds folded={folded}>
        <section class="why">
          <h3>Why now</h3>
          <p>{prompt.why.sentence}</p>
          <Because lines={prompt.why.lines} />
          <Attempts prompt={prompt} />
        </section>
        <section class="same">
          <h3>The identical allocation</h3>
          <Invariants invariants={prompt.invariants} />
        </section>
      </Grounds>

      <footer class="question__foot">
        <Link to={allocationPath(prompt.ref)}>The whole story of this allocation</Link>
        <span>
          Question <code title={prompt.id}>{short(prompt.id)}</code>, rule <code>{prompt.why.rule}</code>
        </span>
      </footer>
    </article>
  );
}

interface GroundsProps {
  readonly folded: boolean;
  readonly children: ComponentChildren;
}

function Grounds({ folded, children }: GroundsProps): JSX.Element {
  const grounds = <div class="question__grounds">{children}</div>;
  if (!folded) return grounds;
  return (
    <details class="folded">
      <summary>Why now, and the identical allocation</summary>
      {grounds}
    </details>
  );
}

/** Age, and how much of its life is left. */
function Life({ prompt, now }: { readonly prompt: PromptView; readonly now: number }): JSX.Element {
  const asked = Date.parse(prompt.askedAt);
  const ends = Date.parse(prompt.expiresAt);
  const leftMs = ends - now;
  if (prompt.closed !== null || leftMs <= 0) {
    return (
      <p class="life">
        <span>
          Asked <Moment at={prompt.askedAt} now={now} />
        </span>
        <span>{minute(prompt.askedAt)}</span>
      </p>
    );
  }
  const share = Math.min(1, leftMs / Math.max(1, ends - asked));
  return (
    <p class={`life ${share < 0.1 ? 'life--ending' : ''}`}>
      <span>
        Asked <Moment at={prompt.askedAt} now={now} />
      </span>
      <time class="life__rest" dateTime={prompt.expiresAt} title={`Open until ${instant(prompt.expiresAt)}`}>
        {countdown(leftMs)} left
      </time>
      <span>{minute(prompt.askedAt)}</span>
      <span class="life__end">until {minute(prompt.expiresAt)}</span>
      <svg class="life__bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="life__all" width="100" height="4" rx="2" />
        <rect class="life__left" width={100 * share} height="4" rx="2" />
      </svg>
    </p>
  );
}

/** The only thing that would change, and the price of it. */
function Differs({ differs }: { readonly differs: PromptView['differs'] }): JSX.Element {
  return (
    <p class="differs">
      <span class="differs__what">{differs.what === 'pool' ? 'Capacity pool' : 'Lane'}</span>
      <span class="differs__from">{differs.from}</span>
      <span class="differs__arrow" aria-hidden="true">
        →
      </span>
      <span class="unseen">to</span>
      <strong class="differs__to">{differs.to}</strong>
      <span class="differs__rest">Nothing else changes.</span>
    </p>
  );
}

export function Ending({ prompt }: { readonly prompt: PromptView }): JSX.Element | null {
  const { closed } = prompt;
  if (closed === null) return null;
  const tone = closed.how === 'accepted' ? 'good' : 'calm';
  return (
    <p class="ending">
      <Chip tone={tone}>{plain(closed.how)}</Chip>
      <span>
        {closed.by === null ? '' : `by ${closed.by} `}
        <Moment at={closed.at} /> ({instant(closed.at)}).
        {closed.why === null ? '' : ` ${closed.why}`}
      </span>
    </p>
  );
}

/** All members that must stay as they are, in their order (fallback 4). */
function Invariants({ invariants }: { readonly invariants: PromptView['invariants'] }): JSX.Element {
  if (invariants === undefined) return <p class="absent">You may not see the values: they are sealed.</p>;
  if (invariants === null) return <p class="absent">The values were erased.</p>;
  if (invariants.every(({ value }) => value === null)) {
    return (
      <p class="absent">None of the 13 members was given: the plan of the launch says what is placed.</p>
    );
  }
  return (
    <dl class="invariants">
      {invariants.map((invariant) => (
        <div key={invariant.member}>
          <dt>{plain(invariant.member)}</dt>
          <dd>{shown(invariant)}</dd>
        </div>
      ))}
    </dl>
  );
}

function shown({ member, value }: InvariantView): string {
  if (value === null) return 'not given';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && member.endsWith('_bytes')) return `${bytes(value)} (${value})`;
  return String(value);
}

function Attempts({ prompt }: { readonly prompt: PromptView }): JSX.Element | null {
  if (prompt.attempts.length === 0) return null;
  return (
    <>
      <h4>What led here</h4>
      <ol class="trail">
        {prompt.attempts.map((attempt) => (
          <li key={attempt.pos} class={`trail__step trail__step--${stepTone(attempt.type)}`}>
            <time dateTime={attempt.at} title={instant(attempt.at)}>
              {timeOfDay(attempt.at)}
            </time>
            <span>
              <b>{attempt.who}</b> {attempt.what}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

function stepTone(type: string): 'input' | 'asked' | 'decision' {
  if (type.endsWith('Prompted') || type === 'PromptRenewed') return 'asked';
  return type.endsWith('Reported') || type.endsWith('Requested') ? 'input' : 'decision';
}
