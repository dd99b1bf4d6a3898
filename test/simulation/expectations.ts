import { isDeepStrictEqual } from 'node:util';
import { createsToday, type Placement, utcDay } from '#domain/placement';
import type { EventType, KnownEvent } from '#events/catalogue';
import type { Verdict } from '#events/watch.events';
import { type Expectation, PLAIN_FACTS, type PlainFact } from './scenario.ts';
import type { World } from './world.ts';

/** A scenario's fact names in the catalogue's words. */
const EVENT_OF: Readonly<Record<PlainFact, EventType>> = {
  failover_decided: 'FailoverDecided',
  prompt_issued: 'FailoverPrompted',
  intent_recorded: 'IntentRecorded',
  instance_created: 'InstanceCreated',
  instance_adopted: 'InstanceAdopted',
  residue_reaped: 'ResidueReaped',
  workload_dispatched: 'WorkloadDispatched',
  failover_completed: 'FailoverCompleted',
  rung_skipped: 'RungSkipped',
  boot_death_recorded: 'BootDeathRecorded',
  boot_streak_reset: 'BootStreakReset',
  wedge_alarm_recorded: 'WedgeAlarmRecorded',
  blocked: 'AllocationBlocked',
  foreign_instance_seen: 'ForeignInstanceSeen',
  alert_raised: 'AlertRaised',
};

/** Everything that an expectation can ask for, as it was at the end. */
export interface Observed {
  /** Of the placement; `left` says whether the last step left it as it was. */
  readonly outcome: string | null;
  readonly left: boolean;
  readonly reason: string | null;
  readonly failure_class: 'infra' | 'code' | null;
  readonly redrivable: boolean;
  readonly terminal_creates: number;
  readonly terminal_dispatches: number;
  readonly live_own_pods: number;
  readonly untouched: readonly string[];
  readonly terminated: readonly string[];
  readonly adopted: readonly string[];
  readonly cancelled: readonly string[];
  readonly creates_today: number;
  readonly prompts: number;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly events: readonly PlainFact[];
}

export interface End {
  readonly events: readonly KnownEvent[];
  readonly placement: Placement;
  /** Before the last step. */
  readonly before: Placement;
  readonly world: World;
  readonly now: string;
}

/** What the log and the providers say at the end of a scenario. */
export function observedAt({ events, placement, before, world, now }: End): Observed {
  const { verdict } = placement;
  const { ledger, runpod } = world;
  const count = (type: EventType) => events.filter((event) => event.type === type).length;
  return {
    outcome: placement.outcome,
    left: placement.outcome === before.outcome && verdict?.reason === before.verdict?.reason,
    reason: verdict?.reason ?? null,
    failure_class: verdict?.failureClass ?? null,
    redrivable: verdict?.redrivable ?? false,
    terminal_creates: ledger.of('runpod', 'create_called').length,
    terminal_dispatches: ledger.of('runpod', 'started').length,
    live_own_pods: runpod.liveOwn.length,
    untouched: runpod.standing.filter(({ id }) => runpod.isUntouched(id)).map(({ id }) => id),
    terminated: ledger.instances('runpod', 'terminated'),
    adopted: adoptedIn(events),
    cancelled: ledger.instances('gcp', 'terminated'),
    creates_today: createsToday(placement, utcDay(now)),
    prompts: count('FailoverPrompted'),
    evidence: evidenceBehind(events, verdict),
    events: PLAIN_FACTS.filter((fact) => count(EVENT_OF[fact]) > 0),
  };
}

/** Taken over, and the log did not know the id from anywhere else. */
function adoptedIn(events: readonly KnownEvent[]): readonly string[] {
  const known = new Set<string>();
  const adopted = new Set<string>();
  for (const event of events) {
    if (event.type === 'InstanceCreated' || event.type === 'LateInstanceSeen') known.add(event.data.instance);
    if (event.type === 'InstanceAdopted' && !known.has(event.data.instance)) adopted.add(event.data.instance);
  }
  return [...adopted];
}

/** Of the decision that first said the reason, with what later facts of the same reason added. */
function evidenceBehind(
  events: readonly KnownEvent[],
  last: Verdict | null,
): Readonly<Record<string, unknown>> {
  const verdicts = events.flatMap((event) =>
    'verdict' in event.data && event.data.verdict.reason === last?.reason ? [event.data.verdict] : [],
  );
  const newest = verdicts.findLastIndex(
    ({ outcome }) => outcome === 'waiting' || outcome === 'awaiting_consent',
  );
  return Object.assign({}, ...verdicts.slice(Math.max(newest, 0)).map(({ evidence }) => evidence));
}

/** What was expected and is not so: one sentence a member. */
export function unmet(expect: Expectation, observed: Observed): readonly string[] {
  return [
    ...outcomeFault(expect, observed),
    ...plainFaults(expect, observed),
    ...setFaults(expect, observed),
    ...evidenceFaults(expect, observed),
    ...(expect.events_include ?? [])
      .filter((fact) => !observed.events.includes(fact))
      .map((fact) => `events_include: ${fact} is not recorded`),
    ...(expect.events_exclude ?? [])
      .filter((fact) => observed.events.includes(fact))
      .map((fact) => `events_exclude: ${fact} is recorded`),
  ];
}

function outcomeFault({ outcome }: Expectation, observed: Observed): readonly string[] {
  if (outcome === undefined || outcome === outcomeFor(outcome, observed)) return [];
  return [different('outcome', outcome, outcomeFor(outcome, observed))];
}

/** The outcome in the expectation's words: `unchanged` is about the last step, the others about the end. */
export function outcomeFor(expected: string | undefined, observed: Observed): string | null {
  return expected === 'unchanged' && observed.left ? 'unchanged' : observed.outcome;
}

const PLAIN = [
  'reason',
  'failure_class',
  'redrivable',
  'terminal_creates',
  'terminal_dispatches',
  'live_own_pods',
  'creates_today',
  'prompts',
] as const;

function plainFaults(expect: Expectation, observed: Observed): readonly string[] {
  return PLAIN.flatMap((member) => {
    const wanted = expect[member];
    return wanted === undefined || wanted === observed[member]
      ? []
      : [different(member, wanted, observed[member])];
  });
}

const SETS = ['terminated', 'adopted', 'cancelled'] as const;

function setFaults(expect: Expectation, observed: Observed): readonly string[] {
  const faults = SETS.flatMap((member) => {
    const wanted = expect[member];
    const found = observed[member];
    if (wanted === undefined || isDeepStrictEqual(new Set(wanted), new Set(found))) return [];
    return [different(member, wanted, found)];
  });
  const touched = (expect.untouched ?? []).filter((id) => !observed.untouched.includes(id));
  return [...faults, ...touched.map((id) => `untouched: ${id} is not as it was`)];
}

function evidenceFaults({ evidence }: Expectation, observed: Observed): readonly string[] {
  return Object.entries(evidence ?? {}).flatMap(([member, wanted]) =>
    observed.evidence[member] === wanted
      ? []
      : [different(`evidence.${member}`, wanted, observed.evidence[member] ?? null)],
  );
}

function different(member: string, expected: unknown, found: unknown): string {
  return `${member}: expected ${shown(expected)}, got ${shown(found)}`;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
