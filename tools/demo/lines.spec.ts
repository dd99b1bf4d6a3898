import pc from 'picocolors';
import { expect, test } from 'vitest';
import { explanations } from '#domain/explanation';
import { ACCEPTED, ASKED, BELOW_THRESHOLD, exampleAttempt } from '#platform/openapi/examples';
import { ProblemBodySchema } from '#platform/openapi/schemas';
import { problem } from '#platform/problem';
import {
  attemptAnswerLines,
  COLUMNS,
  chapterLines,
  claimLine,
  consentAnswerLines,
  cut,
  refusalLines,
  sentAttemptLine,
  sentConsentLine,
  wrapped,
} from './lines.ts';

const plain = pc.createColors(false);
const LONG = 'a sentence that somebody wrote without an end '.repeat(8).trim();

test('an answer that asks shows its reason, count, explanation and the question', () => {
  expect(attemptAnswerLines(ASKED, plain)).toEqual([
    '  ← a question  failed_attempt_threshold · capacity_exhausted counts · count 3 · awaiting-consent',
    '    rule:not-enough-resources         The failure was classified by this rule.',
    '    │ On-demand GPU capacity could not be had for this allocation. May the identical allocation use',
    '    │ preemptible capacity instead? Preemptible machines can be taken away while they run.',
    `    │ on-demand → preemptible: 4 × H200-SXM-141, all 13 invariants equal; token ${ASKED.confirm_token?.slice(0, 6)}…`,
  ]);
});

test('an answer that asks nobody shows what still lacks', () => {
  expect(attemptAnswerLines(BELOW_THRESHOLD, plain)).toEqual([
    '  ← no question  threshold_not_met · capacity_exhausted counts · count 1 · tracking',
    '    rule:not-enough-resources         The failure was classified by this rule.',
    '    below_threshold:1/3               Fewer counting failures than a question needs.',
  ]);
});

test('a token is never shown whole', () => {
  const token = ASKED.confirm_token ?? '';
  const shown = [...attemptAnswerLines(ASKED, plain), sentConsentLine(true, token, plain)].join('\n');
  expect(shown).toContain(token.slice(0, 6));
  expect(shown).not.toContain(token);
});

test('a refusal shows its status, its sentences and the record', () => {
  const { body } = problem('no_question_open', { allocation: ACCEPTED.allocation });
  expect(refusalLines(ProblemBodySchema.parse(body), plain)).toEqual([
    '  ← 409  No question is open',
    '    It was never asked, is answered already, or was withdrawn. Nothing has changed.',
    '    The record says: consent accepted, pool preemptible.',
  ]);
});

test('a claim that does not hold says what was seen instead', () => {
  expect(claimLine('one is counted', true, '1', plain)).toBe('  ✓ one is counted');
  expect(claimLine('one is counted', false, '2', plain)).toBe('  ✗ one is counted; seen: 2');
});

test('no line is wider than the terminal, whatever a provider writes', () => {
  const codes = ['request_incomplete:gpu_family,gpu_product,gpu_count,image,image_digest,sm'];
  const wide = {
    ...BELOW_THRESHOLD,
    decision: { ...BELOW_THRESHOLD.decision, explanation: [...explanations(codes)] },
  };
  const lines = [
    ...chapterLines(1, 'A title', LONG, plain),
    ...attemptAnswerLines(wide, plain),
    ...consentAnswerLines(ACCEPTED, plain),
    sentAttemptLine({ ...exampleAttempt(LONG, 'a1', 'f1'), failure: { message: LONG } }, 'attempt a1', plain),
    claimLine(LONG, true, '', plain),
  ];
  expect(lines.filter((line) => line.length > COLUMNS)).toEqual([]);
});

test('a control character of a provider is made visible', () => {
  const sent = { ...exampleAttempt('a', 'a1', 'f1'), failure: { code: 'X', message: '\u001b[2J gone' } };
  expect(sentAttemptLine(sent, 'attempt a1', plain)).toContain('X: \\u{1b}[2J gone');
});

test('wrapping breaks between words only', () => {
  expect(wrapped('one two three', '- ', 9)).toEqual(['- one two', '- three']);
  expect(wrapped('unbreakable', '- ', 5)).toEqual(['- unbreakable']);
  expect(cut('unbreakable', 5)).toBe('unbr…');
});
