import type { z } from 'zod';
import type { LaneFailureKind as LaneFailureShape } from '#events/plan';
import type { AlertKind } from '#events/watch.events';
import type { OpenAlert, Placement } from '../placement.ts';
import type { PlacementEvent } from '../placement-event.ts';

type LaneFailureKind = z.output<typeof LaneFailureShape>;

/**
 * The open alerts after an event (failover 13: once per subject until it changes). `state` is the state after the
 * event, save its alerts. The event itself is the proof of the change, so that no fact of its own is needed, and
 * the same alert may be raised again behind it.
 */
export function alertsAfter(
  open: readonly OpenAlert[],
  event: PlacementEvent,
  state: Placement,
): readonly OpenAlert[] {
  if (event.type === 'AlertRaised') return raised(open, event, state.version);
  if (open.length === 0) return open;
  const left = open.filter((alert) => !isOver(alert, event, state));
  return left.length === open.length ? open : left;
}

function raised(
  open: readonly OpenAlert[],
  { data, at, eventId }: Extract<PlacementEvent, { type: 'AlertRaised' }>,
  version: number,
): readonly OpenAlert[] {
  const { alert, evidence } = data;
  const subject = alert === 'kept_pod_billing' ? withoutRepeat(data.subject) : data.subject;
  const lane = typeof evidence.lane === 'string' ? evidence.lane : null;
  const others = open.filter((one) => one.alert !== alert || (one.subject !== subject && !isOfOneDay(alert)));
  return [...others, { alert, subject, lane, at, eventId, version }];
}

/** Older logs name the repeat in the subject: `P1 again 3`. */
function withoutRepeat(subject: string): string {
  return subject.replace(/ again \d+$/, '');
}

/** Its subject is a day: the next day's takes its place. */
function isOfOneDay(alert: AlertKind): boolean {
  return alert === 'capacity_retries_exhausted';
}

/** What ends an alert of each kind. */
function isOver(open: OpenAlert, event: PlacementEvent, state: Placement): boolean {
  switch (open.alert) {
    case 'residue_unresolved':
      return isGone(open, event) || isHandle(open, event);
    case 'kept_pod_billing':
    case 'two_workloads':
    case 'wedge_without_consent':
    case 'foreign_marker_conflict':
      return isGone(open, event);
    case 'keep_mark_blocks':
      return isGone(open, event) || isHandle(open, event) || isNamed(open, event, 'ReapAnnounced');
    case 'cancel_unconfirmed':
      // Voided: the instance stays, and its cancel is owed no more.
      return isGone(open, event) || isNamed(open, event, 'FailoverVoided');
    case 'failed_machine_up':
      return isGone(open, event) || isSeenWithout(open, event, 'failedUpSince');
    case 'terminal_pod_unreachable':
      return isGone(open, event) || isHandle(open, event) || isSeenWithout(open, event, 'noPortSince');
    case 'delivered_pool_differs':
      return (
        isGone(open, event) ||
        isNamed(open, event, 'DeliveredPoolAccepted') ||
        isNamed(open, event, 'DeliveredPoolReleased')
      );
    case 'lane_unavailable':
      return endsWithLaunch(event) || laneAnswered(open.subject, event, state, OPEN_LANE);
    case 'lane_auth_failed':
      return endsWithLaunch(event) || laneAnswered(open.subject, event, state, KNOWS_US);
    case 'create_unknown_repeated':
      return isChainOver(open.subject, event, state);
    case 'capacity_retries_exhausted':
      return endsWithLaunch(event) || (event.type === 'WalkStarted' && event.data.walk === 'retry');
    case 'log_rewound':
      return event.type === 'RewindReleased' || event.type === 'RewoundAdopted';
    case 'terminal_limit_reached':
      return state.move === null || isTerminalSend(event, state);
    // Of the deployment and of a call, not of an allocation: they stand in no stream.
    case 'configuration_invalid':
    case 'input_rejected':
      return false;
  }
}

/** Launches and lanes of before are history; a machine may bill on, so what is about one stays open. */
function endsWithLaunch({ type }: PlacementEvent): boolean {
  return type === 'LaunchAccepted' || type === 'AllocationDone';
}

/** The machine is confirmed absent, or has ended: it bills no more. */
function isGone({ subject, lane }: OpenAlert, event: PlacementEvent): boolean {
  switch (event.type) {
    case 'CancelConfirmed':
    case 'ResidueReaped':
      return event.data.instance === subject;
    case 'InstanceGone':
      // The same id on another lane is another machine.
      return event.data.instance === subject && (lane === null || event.data.lane === lane);
    case 'ObservationJudged':
      return event.data.instance === subject && event.data.facts?.gone === true;
    default:
      return false;
  }
}

/** The machine answers for the allocation now: nothing about it is left to resolve. */
function isHandle(open: OpenAlert, event: PlacementEvent): boolean {
  return isNamed(open, event, 'FailoverCompleted') || isNamed(open, event, 'RewoundAdopted');
}

type NamesInstance =
  | 'FailoverCompleted'
  | 'FailoverVoided'
  | 'DeliveredPoolAccepted'
  | 'DeliveredPoolReleased'
  | 'ReapAnnounced'
  | 'RewoundAdopted';

function isNamed({ subject }: OpenAlert, event: PlacementEvent, type: NamesInstance): boolean {
  return event.type === type && 'instance' in event.data && event.data.instance === subject;
}

/** Seen by an observation that counts, without the condition that the alert was about. */
function isSeenWithout(
  { subject }: OpenAlert,
  event: PlacementEvent,
  condition: 'failedUpSince' | 'noPortSince',
): boolean {
  if (event.type !== 'ObservationJudged' || event.data.instance !== subject) return false;
  const { facts } = event.data;
  return facts !== null && facts[condition] === null;
}

/** Answers that raise neither alert of a lane: it is open to us. */
const OPEN_LANE: readonly LaneFailureKind[] = ['capacity', 'quota'];
/** The lane took our word for who we are, whatever else it said. */
const KNOWS_US: readonly LaneFailureKind[] = [...OPEN_LANE, 'rejected', 'balance', 'not_found'];

/** Whether the event shows that this lane answered for the allocation, in one of these ways or by a machine. */
function laneAnswered(
  lane: string,
  event: PlacementEvent,
  state: Placement,
  ways: readonly LaneFailureKind[],
): boolean {
  switch (event.type) {
    case 'CreateEnded': {
      const { intent, answer } = event.data;
      if (laneOfIntent(state, intent) !== lane) return false;
      return answer === 'name_taken' || answer === 'workload_error' || ways.includes(answer);
    }
    case 'InstanceCreated':
    case 'InstanceAdopted':
    case 'ResidueReaped':
      return laneOfIntent(state, event.data.intent) === lane;
    case 'CancelConfirmed':
      return state.instances[event.data.instance]?.lane === lane;
    case 'RungMissed': {
      const { rung, misses } = event.data;
      const newest = misses.at(-1);
      return laneOfRung(state, rung) === lane && newest !== undefined && ways.includes(newest.kind);
    }
    case 'RungSkipped':
      return event.data.why === 'quota' && laneOfRung(state, event.data.rung) === lane;
    default:
      return false;
  }
}

function laneOfIntent({ intents }: Placement, intent: string): string | null {
  return intents.find((one) => one.intent === intent)?.lane ?? null;
}

function laneOfRung({ launch }: Placement, rung: string): string | null {
  return launch?.plan.rungs.find(({ id }) => id === rung)?.lane ?? null;
}

/** The chain has its machine, or is given up; an intent that is replaced carries it on. */
function isChainOver(chain: string, event: PlacementEvent, { intents }: Placement): boolean {
  switch (event.type) {
    case 'InstanceCreated':
    case 'InstanceAdopted':
      break;
    case 'IntentClosed':
      if (event.data.why === 'replaced') return false;
      break;
    default:
      return false;
  }
  return intents.find(({ intent }) => intent === event.data.intent)?.chain === chain;
}

function isTerminalSend(event: PlacementEvent, { intents }: Placement): boolean {
  if (event.type !== 'CreateSending') return false;
  return intents.find(({ intent }) => intent === event.data.intent)?.entry.kind === 'terminal';
}
