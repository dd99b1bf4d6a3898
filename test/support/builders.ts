import { createHash } from 'node:crypto';
import { NO_RECORD } from '#domain/allocation';
import type { AttemptToDecide, PromptRules } from '#domain/prompt/prompt';
import { eventIdOf } from '#events/envelope';
import { plusSeconds } from '#events/instant';
import type { Scalars } from '#events/scalars';

/** When a specification's story begins; `at` counts seconds from here. */
export const T0 = '2026-11-29T10:00:00.000Z';
export const HOUR_S = 3_600;
export const DAY_S = 24 * HOUR_S;

export function at(seconds: number): string {
  return plusSeconds(T0, seconds);
}

/** A digest with a name: the same name is the same digest. */
export function digestOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

/** An event id with a name. */
export function idOf(name: string): string {
  return eventIdOf(name, 0);
}

export const DEFAULT_RULES: PromptRules = { threshold: 3, questionsPerDay: 20, tokenLifeS: DAY_S };

export const CAPACITY: AttemptToDecide['classification'] = {
  category: 'capacity_exhausted',
  qualifying: true,
  rule: 'capacity_exhausted',
};
export const QUOTA: AttemptToDecide['classification'] = {
  category: 'quota_exhausted',
  qualifying: true,
  rule: 'quota_exhausted',
};
export const AUTH: AttemptToDecide['classification'] = { category: 'auth', qualifying: false, rule: 'auth' };
export const OTHER: AttemptToDecide['classification'] = {
  category: 'other',
  qualifying: false,
  rule: 'other',
};

/** The one thing that matters of an attempt; the rest is ordinary. Requests and evidence go by name. */
export interface AttemptChange {
  readonly request?: string;
  readonly evidence?: string;
  /** Seconds after the story's begin. */
  readonly at?: number;
  /** Name of the decision, which is the question's id when it asks. */
  readonly decision?: string;
  /** What the body itself lacks for a question; none = the candidate is compatible. */
  readonly blockers?: readonly string[];
  readonly proof?: boolean;
  readonly pool?: 'on-demand' | 'other';
  readonly success?: boolean;
  readonly classification?: AttemptToDecide['classification'];
}

export const REQUEST = 'request';
export const EVIDENCE = 'evidence';
export const QUESTION = 'question';

/** Digest of the pool move that an attempt of this request and evidence proposes. */
export function actionDigestOf(request: string, evidence: string): string {
  return digestOf(`action ${request} ${evidence}`);
}

/** A counting capacity failure with a compatible candidate, unless changed. */
export function attempt(change: AttemptChange = {}): AttemptToDecide {
  const request = change.request ?? REQUEST;
  const evidence = change.evidence ?? EVIDENCE;
  const blockers = change.blockers ?? [];
  const when = at(change.at ?? 0);
  return {
    input: {
      ringKeyId: 'key-1',
      attemptIdDigest: null,
      bodyDigest: digestOf('body'),
      reportedBy: 'local',
      success: change.success ?? false,
      pool: change.pool ?? 'on-demand',
      requestDigest: digestOf(request),
      evidenceDigest: digestOf(evidence),
      actionDigest: actionDigestOf(request, evidence),
      proof: change.proof ?? false,
      compatible: !blockers.some((code) => !code.startsWith('preflight_unproven')),
      blockers: [...blockers],
      failureDigest: digestOf('failure'),
    },
    recordedAt: when,
    decidedAt: when,
    decisionId: idOf(change.decision ?? QUESTION),
    classification: change.classification ?? CAPACITY,
  };
}

export const capacityFailure = attempt;
export const authFailure = (change: AttemptChange = {}) => attempt({ ...change, classification: AUTH });
export const placed = (change: AttemptChange = {}) => attempt({ ...change, success: true });
export const failureElsewhere = (change: AttemptChange = {}) => attempt({ ...change, pool: 'other' });
/** A preflight that proves both halves; nothing has failed. */
export const proof = (change: AttemptChange = {}) =>
  attempt({ classification: OTHER, ...change, proof: true });

/** The record after a decision: one of the ordinary request, opened by the first decision. */
export function record(change: Partial<Scalars> = {}): Scalars {
  return { ...NO_RECORD, requestDigest: digestOf(REQUEST), ...change };
}
