import type { Allocation } from '#domain/allocation';
import { UNKNOWN_ALLOCATION } from '#domain/allocation';
import { afterFacts, type Fact, type Standing } from '#domain/fact';
import type { QuestionContext } from '#domain/intent/question-context';
import { NOT_PLACED, type PlacedInstance, type Placement } from '#domain/placement';
import { judgeObservation } from '#domain/watch/judge';
import { canonicalJson } from '#events/canonical-json';
import type { DataOfType } from '#events/catalogue';
import type { FailoverConsent, Limits, Plan, Rung } from '#events/plan';
import type { Observation, Verdict } from '#events/watch.events';
import { at, DAY_S, digestOf, idOf } from './builders.ts';

export const LIMITS: Limits = {
  createsPerDay: 16,
  queueWaitS: 600,
  vanishMaxAgeS: 1500,
  bootDeathMaxAgeS: 1500,
  bootDeaths: 2,
  maxReaps: 2,
  workerLeaseS: 60,
  capacityRetryBackoffS: 3600,
  capacityRetriesPerDay: 4,
  wedgeStaleS: 900,
  wedgeObservations: 2,
  wedgeSpanS: 480,
  wedgeLogAgeS: 1800,
  wedgeBudgetFactor: 2,
  noPortS: 900,
};

const rung = (id: string, change: Partial<Rung> = {}): Rung => ({
  id,
  lane: 'gcp',
  kind: 'primary',
  pool: 'on-demand',
  queues: false,
  zones: [],
  machine: null,
  gpu: null,
  maxRunS: null,
  ...change,
});

/** A queueing rung, one on demand and one of a batch lane. */
export const RUNGS: readonly Rung[] = [
  rung('flex_a', { pool: 'flex-start', queues: true }),
  rung('od_a'),
  rung('batch_a', { lane: 'slurm', kind: 'batch', pool: 'batch' }),
];

export function plan(change: Partial<Plan> = {}): Plan {
  return {
    rungs: [...RUNGS],
    terminal: { lane: 'runpod', machine: null, gpu: null },
    budgetS: null,
    failover: 'standing',
    limits: LIMITS,
    hasWorkload: true,
    ...change,
  };
}

/** One poll of `X1` at so many seconds, unless changed: nothing of it can be read. */
export function poll(
  seconds: number,
  provider: Observation['provider'],
  change: Partial<Observation> = {},
): Observation {
  return {
    instance: 'X1',
    lane: 'gcp',
    observedAt: at(seconds),
    provider,
    guest: null,
    alarm: 'none',
    logAgeS: null,
    createOperation: 'unknown',
    createError: null,
    deleteOperation: 'unknown',
    port: null,
    ...change,
  };
}

export const guest = (
  phase: NonNullable<Observation['guest']>['phase'],
  workloadStarted: boolean | null,
): Pick<Observation, 'guest'> => ({ guest: { phase, workloadStarted } });

/** A confirmed absence with every operation known to be over. */
export const gone = (seconds: number, change: Partial<Observation> = {}): Observation =>
  poll(seconds, 'not_found', { createOperation: 'done', deleteOperation: 'none', ...change });

export const works = (seconds: number, change: Partial<Observation> = {}): Observation =>
  poll(seconds, 'running', { ...guest('workload', true), ...change });

/** Digests by name: what is digested can be read again by a test. */
export const questionAt = (seconds: number): QuestionContext => ({
  ref: digestOf('ref'),
  askedAt: at(seconds),
  tokenLifeS: DAY_S,
  digestOf: (label, value) => digestOf(`${label} ${canonicalJson(value)}`),
});

export const verdictOf = (outcome: Verdict['outcome'], change: Partial<Verdict> = {}): Verdict => ({
  outcome,
  reason: null,
  failureClass: null,
  redrivable: false,
  rule: 'test',
  evidence: {},
  notFired: [],
  ...change,
});

/** An allocation as its facts leave it; the pure counterpart of a stream. */
export class Story {
  standing: Standing = { placement: NOT_PLACED, record: UNKNOWN_ALLOCATION };
  readonly facts: Fact[] = [];
  /** Newest observation of an instance that only moved its mark. */
  readonly marks = new Map<string, string>();

  get placement(): Placement {
    return this.standing.placement;
  }

  get record(): Allocation {
    return this.standing.record;
  }

  /** Records facts at so many seconds. */
  add(seconds: number, ...facts: readonly Fact[]): this {
    this.standing = afterFacts(this.standing, facts, { at: at(seconds), eventIdAt: this.ids() });
    this.facts.push(...facts);
    return this;
  }

  ids(): (index: number) => string {
    const first = this.facts.length;
    return (index) => idOf(`fact ${first + index}`);
  }

  launch(change: Partial<Plan> | FailoverConsent = {}, seconds = 0): this {
    const whole = plan(typeof change === 'string' ? { failover: change } : change);
    const data = {
      launch: idOf(`launch ${this.facts.length}`),
      plan: whole,
      requestDigest: null,
      workloadDigest: whole.hasWorkload ? digestOf('workload') : null,
    };
    return this.add(seconds, { type: 'LaunchAccepted', data });
  }

  placed(
    seconds: number,
    rungId = 'flex_a',
    instance = 'X1',
    change: Partial<DataOfType<'InstancePlaced'>> = {},
  ): this {
    const lane = RUNGS.find(({ id }) => id === rungId)?.lane ?? 'gcp';
    const data = {
      instance,
      lane,
      rung: rungId,
      intent: null,
      pool: null,
      createdAt: at(seconds),
      costPerHourUsd: null,
      verdict: verdictOf('placed_primary'),
      ...change,
    };
    return this.add(seconds, { type: 'InstancePlaced', data });
  }

  /** The decided move is completed by this pod. */
  completed(seconds: number, pod = 'P1'): this {
    const move = this.placement.move;
    if (move === null) throw new Error('no move to complete');
    const data = {
      intent: 'a'.repeat(26),
      instance: pod,
      lane: 'runpod',
      key: move.escalation.key,
      verdict: verdictOf('running_on_terminal', { reason: move.escalation.reason }),
    };
    return this.add(seconds, { type: 'FailoverCompleted', data });
  }

  /** Judges polls one after the other and records what follows; answers what followed from the last one. */
  see(...polls: readonly Observation[]): readonly Fact[] {
    let last: readonly Fact[] = [];
    for (const observation of polls) {
      last = this.judge(observation);
      const seconds = (Date.parse(observation.observedAt) - Date.parse(at(0))) / 1000;
      this.add(seconds, ...last);
    }
    return last;
  }

  judge(observation: Observation): readonly Fact[] {
    const seconds = (Date.parse(observation.observedAt) - Date.parse(at(0))) / 1000;
    return judgeObservation(this.placement, this.record, observation, {
      mark: this.marks.get(observation.instance) ?? null,
      question: questionAt(seconds),
      eventIdAt: this.ids(),
    });
  }

  instance(id = 'X1'): PlacedInstance {
    const found = this.placement.instances[id];
    if (found === undefined) throw new Error(`no instance ${id}`);
    return found;
  }
}

/** What an answer says in one line: outcome, reason. */
export function answerOf(facts: readonly Fact[]): string {
  const [judged] = facts;
  if (judged?.type !== 'ObservationJudged') throw new Error('the first fact is the judgement');
  const { outcome, reason } = judged.data.verdict;
  return reason === null ? outcome : `${outcome} ${reason}`;
}

export function verdictIn(facts: readonly Fact[]): Verdict {
  const [judged] = facts;
  if (judged?.type !== 'ObservationJudged') throw new Error('the first fact is the judgement');
  return judged.data.verdict;
}

/** Names of facts, in order. */
export const typesOf = (facts: readonly Fact[]) => facts.map(({ type }) => type);
