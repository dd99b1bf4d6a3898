import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { PromptView } from '#domain/audit/views';
import { api, CallFailed } from './api.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { usePage } from './page-context.ts';
import { Name } from './parts.tsx';
import { randomId } from './random-id.ts';
import { usd } from './words.ts';

interface AnswerFormProps {
  readonly prompt: PromptView;
  /** False = its life time is over: it may still be declined (fallback 6). */
  readonly open: boolean;
}

type Sending = 'yes' | 'no' | null;

/** Accept and decline. What was answered meanwhile by somebody else is told, and nothing is sent twice. */
export function AnswerForm({ prompt, open }: AnswerFormProps): JSX.Element {
  const { caller, prompts } = usePage();
  const answerIds = useRef({ yes: randomId(), no: randomId() });
  const [asking, setAsking] = useState(false);
  const [sending, setSending] = useState<Sending>(null);
  const [failure, setFailure] = useState<string | null>(null);

  const send = async (accept: boolean) => {
    setSending(accept ? 'yes' : 'no');
    setFailure(null);
    try {
      const taken = await api.answer(prompt.id, accept, answerIds.current[accept ? 'yes' : 'no']);
      prompts.tell({ kind: 'answered', prompt: taken.prompt });
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      const now = error.problem.prompt;
      if (error.status === 409 && now !== undefined) {
        prompts.tell({ kind: 'late', prompt: now });
      } else {
        setFailure(refusal(error));
      }
    }
    setSending(null);
    setAsking(false);
  };

  const mayAnswer = caller.may.consent;
  return (
    <div class="answer">
      <div class="options">
        {open ? (
          <Option name="If you accept" effects={prompt.onYes}>
            <p class="option__price">
              {prompt.buys}{' '}
              {prompt.costPerHourUsd === null ? (
                'Its price is not known to Spillway.'
              ) : (
                <b>{usd(prompt.costPerHourUsd)} per hour.</b>
              )}
            </p>
            {mayAnswer ? (
              <button
                type="button"
                class="button button--yes button--large"
                disabled={sending !== null}
                onClick={() => setAsking(true)}
              >
                Accept…
              </button>
            ) : null}
          </Option>
        ) : null}
        <Option name="If you decline" effects={prompt.onNo}>
          {mayAnswer ? (
            <button
              type="button"
              class="button button--large"
              disabled={sending !== null}
              onClick={() => void send(false)}
            >
              {sending === 'no' ? 'Declining…' : 'Decline'}
            </button>
          ) : null}
        </Option>
      </div>
      {open ? null : (
        <p class="hint">Its life time is over: it can be declined, or asked again by reading it anew.</p>
      )}
      {mayAnswer ? null : (
        <p class="hint">You may read this question. Answering it takes the right “consent”.</p>
      )}
      {failure === null ? null : (
        <p class="answer__failure" role="alert">
          {failure}
        </p>
      )}
      {asking && open ? (
        <ConfirmDialog
          title="Accept this, and buy it?"
          yes="Yes, accept"
          no="Back"
          busy={sending !== null}
          onYes={() => void send(true)}
          onClose={() => setAsking(false)}
        >
          <p class="dialog__buys">{prompt.buys}</p>
          <dl class="facts">
            <div>
              <dt>For</dt>
              <dd>
                <Name name={prompt.name} allocationRef={prompt.ref} />
              </dd>
            </div>
            <div>
              <dt>Changes</dt>
              <dd>
                {prompt.differs.from} → <strong>{prompt.differs.to}</strong>, nothing else
              </dd>
            </div>
            <div>
              <dt>Price</dt>
              <dd>
                {prompt.costPerHourUsd === null
                  ? 'not known to Spillway'
                  : `${usd(prompt.costPerHourUsd)} per hour`}
              </dd>
            </div>
            <div>
              <dt>Recorded as</dt>
              <dd>{caller.authenticated ? 'you' : 'local (authentication is off)'}</dd>
            </div>
          </dl>
          <p class="dialog__small">An acceptance cannot be taken back here.</p>
        </ConfirmDialog>
      ) : null}
    </div>
  );
}

interface OptionProps {
  readonly name: string;
  readonly effects: readonly string[];
  readonly children: ComponentChildren;
}

/** An answer with what follows from it. */
function Option({ name, effects, children }: OptionProps): JSX.Element {
  return (
    <section class="option">
      <h3>{name}</h3>
      <ul>
        {effects.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {children}
    </section>
  );
}

function refusal({ status, message }: CallFailed): string {
  if (status === 0) return 'The answer may not have arrived: the server cannot be reached. Try again.';
  if (status === 409) return 'This question is no longer open.';
  if (status === 429) return 'Too many calls at once. Wait a moment, then try again.';
  return `The answer was not taken. ${message}`;
}
