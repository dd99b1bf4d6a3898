import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { KnownEvent } from '#events/catalogue';
import { digestOf, idOf } from '#support/builders';
import { play, rules, steps } from '#support/random-story';
import { recorded } from '#support/recorded';
import { classify } from '../classify/classify.ts';
import { explain, explanations } from '../explanation.ts';
import { allocationView, attemptAnswer, consentAnswer, type ShownQuestion } from './answer.ts';
import {
  AllocationRecord,
  AttemptAnswerBody,
  ConsentAnswerBody,
  ExplanationLine,
  UndecidedAnswerBody,
} from './answer-schema.ts';
import { INVARIANTS, invariantsOf } from './invariants.ts';

const REF = digestOf('ref');
const TOKEN = 'a'.repeat(43);

/** What a schema has against a body as the caller gets it. */
function undescribedIn(schema: z.ZodType, body: unknown): readonly z.core.$ZodIssue[] {
  return schema.safeParse(JSON.parse(JSON.stringify(body))).error?.issues ?? [];
}

type AttemptDecision = Parameters<typeof attemptAnswer>[0]['decision'];

function isAboutAttempt(event: KnownEvent): event is AttemptDecision {
  return ['AttemptTracked', 'AttemptIgnored', 'AllocationSucceeded', 'FallbackPrompted'].includes(event.type);
}

/** How a question may be shown when its answer is read. */
const shown: fc.Arbitrary<ShownQuestion> = fc.oneof(
  fc.constant({ kind: 'erased' as const }),
  fc.boolean().map((renewed) => ({
    kind: 'shown' as const,
    token: TOKEN,
    invariants: invariantsOf({ gpu_family: 'hopper', gpu_count: 4, rt_cores_required: false }),
    renewed,
  })),
);

test('every answer that the rules can give has the described form', () => {
  fc.assert(
    fc.property(steps, rules, shown, (story, promptRules, question) => {
      const undescribed = play(story, promptRules).flatMap(({ decision, after }) => {
        const event = recorded(decision, after.version);
        const view = undescribedIn(AllocationRecord, allocationView(REF, after));
        if (!isAboutAttempt(event)) {
          return [...view, ...undescribedIn(ConsentAnswerBody, consentAnswer(REF, after))];
        }
        const asked = event.type === 'FallbackPrompted' ? question : null;
        const answer = { ref: REF, attemptEventId: idOf('attempt'), decision: event, after, question: asked };
        return [...view, ...undescribedIn(AttemptAnswerBody, attemptAnswer(answer))];
      });
      expect(undescribed).toEqual([]);
    }),
    { numRuns: 30 },
  );
});

test('every explanation code of the closed set is described', () => {
  const codes = [
    explain.requestIncomplete(INVARIANTS),
    explain.candidateMissing,
    explain.candidatePool,
    explain.candidateIncomplete(INVARIANTS),
    explain.candidateDiffers(INVARIANTS),
    explain.belowThreshold(2, 3),
    explain.failureNotCounting,
    explain.preflightUnproven(['on_demand_impossible', 'preemptible_available']),
    explain.evidenceAlreadyPrompted,
    explain.evidenceDeclined,
    explain.promptOpen,
    explain.promptBudgetSpent,
    explain.promptSuperseded,
    explain.requestChanged,
    explain.promptRenewed,
    explain.promptErased,
  ];
  expect(explanations(codes).filter((line) => !ExplanationLine.safeParse(line).success)).toEqual([]);
  expect(new Set(codes).size + 1, 'one row here for each kind of code, and the rule').toBe(
    Object.keys(explain).length,
  );
});

test('the rule that decided any failure of the corpus is described', () => {
  const Row = z.object({ code: z.string().nullish(), message: z.string().nullish() });
  const corpus = readFileSync('test/conformance/classification/corpus.jsonl', 'utf8').trim().split('\n');
  const codes = corpus.map((line) => {
    const { code, message } = Row.parse(JSON.parse(line));
    return explain.rule(classify({ code: code ?? undefined, message: message ?? undefined }).rule);
  });
  expect(explanations(codes).filter((line) => !ExplanationLine.safeParse(line).success)).toEqual([]);
});

test('an answer with a member that nobody described is refused', () => {
  const undecided = { ok: true, attempt_event_id: idOf('attempt'), location: '/somewhere' };
  expect(UndecidedAnswerBody.safeParse(undecided).success).toBe(true);
  expect(UndecidedAnswerBody.safeParse({ ...undecided, token: TOKEN }).success).toBe(false);
});
