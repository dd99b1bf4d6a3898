import { FAILURES, failedAttempt, preflightProof } from './bodies.ts';
import type { AttemptAnswer, ConsentAnswer, Reply } from './calls.ts';
import { type Stage, StoryBroken } from './stage.ts';

/** What the end of the demo looks up in the log. */
export interface ToldStory {
  /** Ref of the allocation of the second chapter. */
  readonly declinedRef: string;
}

/**
 * Plays the story. `run` makes its names and ids new, so that it can be told any number of times to the same
 * log: an id that was used before would be answered with what was decided then.
 */
export async function tellStory(stage: Stage, run: string): Promise<ToldStory> {
  await accepted(stage, run);
  const declinedRef = await declined(stage, run);
  await provenAtOnce(stage, run);
  await neverCounted(stage, run);
  return { declinedRef };
}

async function accepted(stage: Stage, run: string): Promise<void> {
  const name = `${run}/finetune-7`;
  const attempt = (step: string, failure: keyof typeof FAILURES) =>
    failedAttempt({ name, id: `${run}#${step}`, failure: FAILURES[failure], evidence: 'f1' });
  stage.chapter(
    'Three failures, a question, a yes',
    `${name} needs 4 H200 GPUs on demand. Three placements fail, each time because there is no capacity.`,
  );
  const first = await stage.attempt(attempt('a1', 'nebius'), 'attempt a1');
  stage.claim('one failure is counted and asks nobody', summary(first), ['threshold_not_met', 1]);
  const second = await stage.attempt(attempt('a2', 'kubernetes'), 'attempt a2');
  stage.claim('another wording, the same meaning: two are counted', summary(second), [
    'threshold_not_met',
    2,
  ]);
  const repeated = await stage.attempt(attempt('a2', 'kubernetes'), 'a2 again');
  stage.claim('a retry of the same attempt gets the same answer and counts once', repeated, second);
  const third = await stage.attempt(attempt('a3', 'quota'), 'attempt a3');
  stage.claim('the third failure asks a person', summary(third), ['failed_attempt_threshold', 3]);
  stage.claim('nothing is switched before the answer', third.allocation.selected_pool, 'on-demand');

  const token = tokenOf(third);
  stage.claim(
    'the yes is recorded and the pool is preemptible',
    record(await stage.consent(name, true, token)),
    [200, 'accepted', 'preemptible'],
  );
  stage.claim('the same token again changes nothing', record(await stage.consent(name, true, token)), [
    409,
    'accepted',
    'preemptible',
  ]);
}

async function declined(stage: Stage, run: string): Promise<string> {
  const name = `${run}/finetune-8`;
  const attempt = (step: string, evidence: string) =>
    failedAttempt({ name, id: `${run}#${step}`, failure: FAILURES.nebius, evidence });
  stage.chapter(
    'A no is remembered, until there is something new',
    `${name} fails three times as well, but here the answer is no.`,
  );
  const first = await stage.attempt(attempt('b1', 'f1'), 'attempt b1');
  await stage.attempt(attempt('b2', 'f1'), 'attempt b2');
  const asked = await stage.attempt(attempt('b3', 'f1'), 'attempt b3');
  stage.claim('the third failure asks a person', summary(asked), ['failed_attempt_threshold', 3]);
  stage.claim('to decline needs no token; the pool stays', record(await stage.consent(name, false)), [
    200,
    'declined',
    'on-demand',
  ]);
  const same = await stage.attempt(attempt('b4', 'f1'), 'attempt b4');
  stage.claim('the same evidence does not ask again', summary(same), ['suppressed', 4]);
  stage.claim('and the answer says why', codes(same).includes('evidence_declined'), true);
  const fresh = await stage.attempt(attempt('b5', 'f2'), 'attempt b5');
  stage.claim('new evidence asks at once', summary(fresh), ['failed_attempt_threshold', 5]);
  stage.claim('with a token of its own', tokenOf(fresh) !== tokenOf(asked), true);
  return first.allocation.logical_allocation_ref;
}

async function provenAtOnce(stage: Stage, run: string): Promise<void> {
  const name = `${run}/eval-3`;
  stage.chapter(
    'A proof asks at once',
    `${name} has not failed at all: the provider's preflight says beforehand that on-demand cannot succeed.`,
  );
  const asked = await stage.attempt(preflightProof(name, `${run}#p1`), 'preflight p1');
  stage.claim('one proof is enough, with nothing counted', summary(asked), ['deterministic_preflight', 0]);
}

async function neverCounted(stage: Stage, run: string): Promise<void> {
  const name = `${run}/train-9`;
  const attempt = (step: string, failure: keyof typeof FAILURES) =>
    failedAttempt({ name, id: `${run}#${step}`, failure: FAILURES[failure], evidence: 'f1' });
  stage.chapter(
    'A failure that more capacity would not repair',
    `${name} reports a capacity code, but its text tells of an image that cannot be pulled.`,
  );
  const pull = await stage.attempt(attempt('d1', 'imagePull'), 'attempt d1');
  stage.claim('it is read as an image pull and not counted', summary(pull), ['threshold_not_met', 0]);
  stage.claim('the answer names the rule', codes(pull).slice(0, 2), [
    'rule:never-count-text:image_pull',
    'failure_not_counting',
  ]);
  const capacity = await stage.attempt(attempt('d2', 'nebius'), 'attempt d2');
  stage.claim('the same code with a text about capacity counts', summary(capacity), ['threshold_not_met', 1]);
}

const summary = ({ decision, allocation }: AttemptAnswer) => [
  decision.reason,
  allocation.qualifying_attempts,
];
const codes = ({ decision }: AttemptAnswer) => decision.explanation.map(({ code }) => code);

function record({ status, body }: Reply<ConsentAnswer>) {
  return [status, body.allocation?.consent, body.allocation?.selected_pool];
}

function tokenOf({ confirm_token }: AttemptAnswer): string {
  if (confirm_token === undefined) throw new StoryBroken('the question came without a token');
  return confirm_token;
}
