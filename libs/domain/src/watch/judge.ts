import type { Escalation } from '#events/intent.events';
import type { Observation, Verdict } from '#events/watch.events';
import type { Allocation } from '../allocation.ts';
import type { Fact } from '../fact.ts';
import { alertOnce, blocked, verdict } from '../intent/blocked.ts';
import { escalate, escalationReason } from '../intent/escalate.ts';
import type { EscalationContext } from '../intent/question-context.ts';
import { voidedMove } from '../intent/void-failover.ts';
import { type Move, type PlacedInstance, type Placement, utcDay } from '../placement.ts';
import { watchAlerts } from './alerts.ts';
import { type Assessment, assess } from './assess.ts';
import type { Consequence } from './finding.ts';

export interface JudgeContext extends EscalationContext {
  /** The instance's mark: its newest observation that changed nothing; null = none (failover 3.8). */
  readonly mark: string | null;
}

/**
 * The one judgement of one observation, and what follows from it, in the order in which it is recorded
 * (failover 4.1). The first fact is always `ObservationJudged`, and its verdict is the answer. The same state,
 * record, observation and context give the same facts, so that a replay can judge again (failover 3.4).
 */
export function judgeObservation(
  state: Placement,
  record: Allocation,
  observation: Observation,
  context: JudgeContext,
): readonly Fact[] {
  const assessed = assess(state, observation, context.mark);
  const beside = besides(state, assessed);
  const { question, eventIdAt } = context;
  const first = 1 + beside.length;
  const following = followsFrom(state, record, assessed, {
    question,
    eventIdAt: (index) => eventIdAt(first + index),
  });
  return [judged(observation, context.mark, assessed, following), ...beside, ...following];
}

/** What the answer says of an observation from which nothing followed. */
export function unchangedVerdict({ rule, evidence, notFired }: Assessment): Verdict {
  return { ...verdict('unchanged', null, rule, evidence), notFired: [...notFired] };
}

function judged(
  { instance, observedAt }: Observation,
  mark: string | null,
  assessed: Assessment,
  following: readonly Fact[],
): Fact {
  const decisive = following.flatMap(({ data }) => ('verdict' in data ? [data.verdict] : [])).at(-1);
  const answer = decisive ?? createFailed(assessed) ?? unchangedVerdict(assessed);
  return {
    type: 'ObservationJudged',
    data: {
      instance,
      observedAt,
      mark,
      verdict: { ...answer, notFired: [...assessed.notFired] },
      facts: assessed.facts,
    },
  };
}

function createFailed({ follows, rule, evidence }: Assessment): Verdict | null {
  return follows.kind === 'create_failed' ? verdict('waiting', null, rule, evidence) : null;
}

/** Counts, resets and alerts that stand beside the decision. */
function besides(state: Placement, assessed: Assessment): readonly Fact[] {
  const { watched, bootDeath, endsStreak } = assessed;
  if (watched === null) return [];
  const { instance, before, facts, observation } = watched;
  const reset: Fact[] =
    endsStreak && instance.rung !== null
      ? [{ type: 'BootStreakReset', data: { instance: instance.id, rung: instance.rung } }]
      : [];
  const death: Fact[] =
    bootDeath === null ? [] : [{ type: 'BootDeathRecorded', data: { instance: instance.id, ...bootDeath } }];
  const alarms: Fact[] = (['transport', 'reachable'] as const).flatMap((arm) => {
    const streak = arm === 'transport' ? facts.transportAlarms : facts.silentLogs;
    const earlier = arm === 'transport' ? before?.transportAlarms : before?.silentLogs;
    if (!assessed.counts || instance.kind !== 'primary' || streak === null) return [];
    if (earlier?.count === streak.count && earlier.since === streak.since) return [];
    return [{ type: 'WedgeAlarmRecorded', data: { instance: instance.id, arm, ...streak } }];
  });
  return [...reset, ...death, ...alarms, ...watchAlerts(state, instance, facts, observation)];
}

function followsFrom(
  state: Placement,
  record: Allocation,
  assessed: Assessment,
  { question, eventIdAt }: EscalationContext,
): readonly Fact[] {
  const { follows, rule, evidence, watched } = assessed;
  if (watched === null) return [];
  const { instance } = watched;
  switch (follows.kind) {
    case 'holds':
      return [];
    case 'done': {
      const done: Fact = {
        type: 'AllocationDone',
        data: { instance: instance.id, verdict: verdict('done', null, rule, evidence) },
      };
      return state.move === null ? [done] : [voided(state.move, record, 'done', rule), done];
    }
    case 'voids':
      return state.move === null ? [] : [voided(state.move, record, 'reachable', rule)];
    case 'blocked': {
      const kept = follows.keepsPod === true ? keptPod(state, instance) : [];
      return [blocked(follows.reason, rule, evidence), ...kept];
    }
    case 'create_failed':
      return [
        { type: 'RungMissed', data: { rung: follows.rung, misses: [follows.miss] } },
        walkOn(state, follows.rung, watched.observation.observedAt),
      ];
    case 'escalates': {
      const loss: Fact[] =
        follows.queueLoss && instance.rung !== null
          ? [
              {
                type: 'QueueLossRecorded',
                data: {
                  instance: instance.id,
                  rung: instance.rung,
                  day: utcDay(watched.observation.observedAt),
                },
              },
            ]
          : [];
      const escalation = escalationOf(assessed, follows, watched);
      const moved = escalate(state, record, escalation, {
        question,
        eventIdAt: (index) => eventIdAt(loss.length + index),
      });
      return [...loss, ...moved];
    }
  }
}

function escalationOf(
  { rule, evidence }: Assessment,
  { trigger, cancel }: Extract<Consequence, { kind: 'escalates' }>,
  { instance, launch }: NonNullable<Assessment['watched']>,
): Escalation {
  return {
    trigger,
    reason: escalationReason(trigger, instance.lane, launch.plan.terminal?.lane ?? 'none'),
    rule,
    evidence,
    key: instance.id,
    failedInstance: instance.id,
    rung: instance.rung,
    cancel,
  };
}

function voided(move: Move, record: Allocation, why: 'done' | 'reachable', rule: string): Fact {
  return voidedMove(move, record, { why, rule, dropsRungLoss: false });
}

/** The ladder goes on behind the rung whose create failed in the end (failover 4.2). */
function walkOn(state: Placement, rung: string, observedAt: string): Fact {
  const ids = state.launch?.plan.rungs.map(({ id }) => id) ?? [];
  const at = ids.indexOf(rung);
  const rungs = at < 0 ? [] : ids.slice(at + 1);
  return {
    type: 'WalkStarted',
    data: { walk: 'create_failed', rungs, retry: null, day: utcDay(observedAt) },
  };
}

/** Named with its hourly cost, at once (failover 12.4). */
function keptPod(state: Placement, { id, lane, costPerHourUsd }: PlacedInstance): readonly Fact[] {
  return alertOnce(state, 'kept_pod_billing', id, { instance: id, lane, costPerHourUsd });
}
