import { plusSeconds } from '#events/instant';
import type { BlockedReason, Escalation, Trigger } from '#events/intent.events';
import type { Plan } from '#events/plan';
import { type Allocation, evolve } from '../allocation.ts';
import type { Fact } from '../fact.ts';
import { ownLeftovers, type Placement } from '../placement.ts';
import { isExpired } from '../prompt/renewal.ts';
import { alertOnce, blocked, verdict } from './blocked.ts';
import { failoverSpent } from './failover-once.ts';
import { proposedFailover } from './proposed-action.ts';
import type { EscalationContext } from './question-context.ts';

/** `<primary>_..._failover_<terminal>`, as people search for it (failover 4.3 to 4.7, 5.6). */
export function escalationReason(trigger: Trigger, primary: string, terminal: string): string {
  switch (trigger) {
    case 'queue_vanish':
      return `${primary}_queue_vanish_failover_${terminal}`;
    case 'queue_timeout':
      return `${primary}_queue_timeout_failover_${terminal}`;
    case 'workload_crash':
      return `${primary}_workload_failover_${terminal}_async`;
    case 'workload_crash_placing':
      return `${primary}_workload_failover_${terminal}`;
    case 'infra_wedge':
      return `${primary}_infra_wedge_failover_${terminal}`;
    case 'boot_loop':
      return `${primary}_boot_loop_failover_${terminal}`;
    case 'ladder_exhausted':
      return `auto_fallback_${terminal}`;
  }
}

/** Without a terminal entry there is nothing to consent to (failover 14). */
function consentOf(plan: Plan): Plan['failover'] {
  return plan.terminal === null ? 'never' : plan.failover;
}

/**
 * The consent table for one trigger (failover 4.8): the move is decided, asked for, or the allocation is blocked.
 * Nothing follows for a key that has had its failover, or while a move is under way (failover 8.1). Throws without
 * a launch.
 */
export function escalate(
  state: Placement,
  record: Allocation,
  escalation: Escalation,
  context: EscalationContext,
): readonly Fact[] {
  if (state.launch === null) throw new Error('an escalation of an allocation that was never launched');
  if (failoverSpent(state, escalation.key) !== null) return [];
  const { plan } = state.launch;
  if (!plan.hasWorkload) {
    return [blocked('relaunch_spec_missing', '4.8 nothing_to_run', evidenceOf(escalation))];
  }
  switch (consentOf(plan)) {
    case 'standing':
      return [decided(escalation, 'standing')];
    case 'ask':
      return asked(state, record, escalation, context);
    case 'never':
      return withoutTerminal(state, escalation);
  }
}

/** The move is decided; whoever asked sees that it is under way (failover 9.1, step 1). */
export function decided(escalation: Escalation, consent: string): Fact {
  const { reason, rule, evidence } = escalation;
  return {
    type: 'FailoverDecided',
    data: { escalation, consent, verdict: verdict('waiting', reason, rule, { ...evidence, consent }) },
  };
}

function asked(
  state: Placement,
  record: Allocation,
  escalation: Escalation,
  { question, eventIdAt }: EscalationContext,
): readonly Fact[] {
  const { askedAt, digestOf } = question;
  const covering = coveringAcceptance(state, escalation, askedAt);
  if (covering !== null) {
    return [decided({ ...escalation, key: covering.key }, covering.questionId)];
  }
  const { reason, rule, evidence, key, trigger } = escalation;
  const { openQuestion } = record.scalars;
  const prompt = {
    escalation,
    actionDigest: proposedFailover(state, escalation, question).digest,
    evidenceDigest: digestOf('failover-evidence', { key, trigger, evidence }),
    askedAt,
    expiresAt: plusSeconds(askedAt, question.tokenLifeS),
    withdrew: openQuestion?.kind === 'pool' ? openQuestion.eventId : null,
    verdict: verdict('awaiting_consent', reason, rule, evidence),
  };
  const eventId = eventIdAt(0);
  const after = evolve(record, { type: 'FailoverPrompted', eventId, data: prompt });
  return [{ type: 'FailoverPrompted', data: { ...prompt, after: after.scalars } }];
}

/**
 * The acceptance that this move rests on, until the life of its question ends: one that names its key, or, when
 * the retry pass drives an accepted move again and the ladder is exhausted, that of the move (failover 14). The
 * re-driven move goes by the key that was accepted, so that its one workload start is stamped there.
 */
function coveringAcceptance(
  { acceptance, walk }: Placement,
  { key, trigger }: Escalation,
  at: string,
): Placement['acceptance'] {
  if (acceptance === null || isExpired(acceptance, at)) return null;
  const isRedrive = trigger === 'ladder_exhausted' && walk?.kind === 'retry';
  return acceptance.key === key || isRedrive ? acceptance : null;
}

/** Under `never`, and where the plan has no terminal entry. */
function withoutTerminal(state: Placement, escalation: Escalation): readonly Fact[] {
  const reason = reasonWithoutTerminal(state, escalation.trigger);
  const evidence = evidenceOf(escalation);
  const rule = '4.8 never';
  // Missing compute is said only once nothing of ours bills any more (failover 6, 12.2).
  const waits = reason === 'no_compute_available' && (escalation.cancel !== 'nothing' || hasLeftovers(state));
  if (waits) {
    return [
      { type: 'CancelDecided', data: { escalation, verdict: verdict('waiting', null, rule, evidence) } },
    ];
  }
  const alerts =
    escalation.trigger === 'infra_wedge'
      ? alertOnce(state, 'wedge_without_consent', escalation.key, evidence)
      : [];
  return [blocked(reason, rule, evidence), ...alerts];
}

function hasLeftovers(state: Placement): boolean {
  return ownLeftovers(state).length > 0;
}

function reasonWithoutTerminal(state: Placement, trigger: Trigger): BlockedReason {
  switch (trigger) {
    case 'queue_vanish':
    case 'queue_timeout':
      return 'no_compute_available';
    case 'ladder_exhausted': {
      const cut = state.walk?.skipped.some(({ why }) => why === 'creates_per_day') ?? false;
      return cut ? 'creates_per_day_reached' : 'no_compute_available';
    }
    case 'workload_crash':
    case 'workload_crash_placing':
      return 'workload_failure';
    case 'boot_loop':
      return 'setup_failure';
    case 'infra_wedge':
      return 'failover_declined';
  }
}

function evidenceOf({ evidence, trigger }: Escalation): Escalation['evidence'] {
  return { ...evidence, trigger };
}
