import { CATALOGUE, type KnownEvent } from '#events/catalogue';
import type { Stage } from '#events/define-event';
import type { RecordedEvent } from '#events/envelope';
import type { Scalars } from '#events/scalars';
import type { Outcome } from '#events/watch.events';
import { type Explanation, explanations } from '../explanation.ts';
import { actor, type EventOf, machine, moment, shortened, type Told, teller } from './told.ts';
import { toldOfEffect } from './told-effects.ts';
import { toldOfIntent } from './told-intent.ts';
import { toldOfProvision } from './told-provision.ts';
import { toldOfWatch } from './told-watch.ts';
import { verdictLines } from './verdict-lines.ts';

/** One event of an allocation's story in plain words. Digests and ids are shortened; nothing a caller wrote. */
export interface StoryLine {
  readonly pos: number;
  /** When the log recorded it. */
  readonly at: string;
  readonly type: string;
  readonly stage: Stage | null;
  readonly who: string;
  readonly what: string;
  /** The recorded reasons, with their sentences. */
  readonly because: readonly Explanation[];
  /** Ids of machines that `what` shortens, whole. */
  readonly machines: readonly string[];
  /** What the decision left behind; null for what decides nothing about it. */
  readonly after: StandingAfter | null;
  /** What a caller wrote, only if it was unsealed for this line. */
  readonly texts: readonly StoryText[];
}

/** The record of attempts after a decision about it, or the placement after one about a move. */
export type StandingAfter =
  | ({ readonly of: 'record' } & Pick<Scalars, 'count' | 'status' | 'consent' | 'pool'>)
  | { readonly of: 'placement'; readonly outcome: Outcome; readonly reason: string | null };

export interface StoryText {
  readonly kind: 'failure' | 'invariants' | 'launch';
  /** As it was sealed; null = it was erased, or its retention has ended. */
  readonly text: string | null;
}

/** Address of a sealed text that belongs to an event. */
export interface SealedAddress {
  readonly kind: StoryText['kind'];
  readonly digest: string;
}

/**
 * Unsealed texts by digest: null = gone. Without it no line has a text: who may not unseal reads the same story
 * (fallback 7).
 */
export type UnsealedTexts = ReadonlyMap<string, string | null>;

const NOTHING_UNSEALED: UnsealedTexts = new Map();

/** The story of a stream, a line an event, in the order of the log. */
export function timeline(events: readonly KnownEvent[], unsealed = NOTHING_UNSEALED): readonly StoryLine[] {
  return events.map((event) => storyLine(event, unsealed));
}

/** One event as a line of the story. */
export function storyLine(event: KnownEvent, unsealed = NOTHING_UNSEALED): StoryLine {
  const { row } = event;
  return {
    pos: row.pos,
    at: row.recordedAt,
    type: event.type,
    stage: CATALOGUE[event.type].stage,
    ...told(event),
    because: becauseOf(event),
    machines: machinesOf(event),
    after: afterOf(event),
    texts: sealedTextsOf(event).flatMap(({ kind, digest }) => {
      const text = unsealed.get(digest);
      return text === undefined ? [] : [{ kind, text }];
    }),
  };
}

function becauseOf({ data }: KnownEvent): readonly Explanation[] {
  if ('explanation' in data) return explanations(data.explanation);
  return 'verdict' in data ? verdictLines(data.verdict) : [];
}

function machinesOf({ data }: KnownEvent): readonly string[] {
  const ids = [
    'instance' in data ? data.instance : null,
    'subject' in data ? data.subject : null,
    'observation' in data ? data.observation.instance : null,
    'escalation' in data ? data.escalation.failedInstance : null,
    'leaves' in data ? (data.leaves?.instance ?? null) : null,
  ];
  return ids.filter((id) => id !== null).filter((id) => machine(id) !== id);
}

function afterOf({ data }: KnownEvent): StandingAfter | null {
  if (!('after' in data)) return null;
  if ('verdict' in data) {
    const { outcome, reason } = data.verdict;
    return outcome === 'unchanged' ? null : { of: 'placement', outcome, reason };
  }
  const { count, status, consent, pool, openQuestion, requestDigest } = data.after;
  // An answer about a move changes no record, and what becomes of the move is the next event. Where no attempt was
  // reported there is none to show.
  const isAboutMove = 'key' in data || openQuestion?.kind === 'failover';
  return isAboutMove || requestDigest === null ? null : { of: 'record', count, status, consent, pool };
}

/** A row that this version cannot read stays in the story: left out, it would look as if nothing happened. */
export function unreadableLine(row: RecordedEvent, why: string): StoryLine {
  return {
    pos: row.pos,
    at: row.recordedAt,
    type: row.type,
    stage: null,
    who: 'unknown',
    what: `recorded ${row.type} version ${row.schemaVersion}, which cannot be read here: ${why}`,
    because: [],
    machines: [],
    after: null,
    texts: [],
  };
}

/** Which sealed texts tell more about an event. */
export function sealedTextsOf(event: KnownEvent): readonly SealedAddress[] {
  switch (event.type) {
    case 'AttemptReported':
    case 'ZoneMissed':
    case 'CreateEnded':
      return sealed('failure', event.data.failureDigest);
    case 'ObservationReported':
      return sealed('failure', event.data.observation.createError?.failureDigest ?? null);
    case 'RungMissed':
      return event.data.misses.flatMap(({ failureDigest }) => sealed('failure', failureDigest));
    case 'FallbackPrompted':
      return sealed('invariants', event.data.requestDigest);
    case 'LaunchRequested':
      return [
        ...sealed('invariants', event.data.requestDigest),
        ...sealed('launch', event.data.workloadDigest),
      ];
    default:
      return [];
  }
}

function sealed(kind: SealedAddress['kind'], digest: string | null): readonly SealedAddress[] {
  return digest === null ? [] : [{ kind, digest }];
}

const classifier = teller('classifier');

function told(event: KnownEvent): Told {
  switch (event.type) {
    case 'AttemptReported':
      return { who: actor(event.data.reportedBy), what: `reported ${reported(event.data)}` };
    case 'AttemptTracked': {
      const { category, qualifying } = event.data;
      const counted = qualifying ? `counted the failure: ${category}` : `did not count it: ${category}`;
      return classifier(`${opened(event.data)}${counted}`);
    }
    case 'AttemptIgnored': {
      const why =
        event.data.reason === 'not_on_demand'
          ? 'the attempt was not for on-demand capacity'
          : 'preemptible capacity is selected already';
      return classifier(`${opened(event.data)}let the count rest: ${why}`);
    }
    case 'AllocationSucceeded':
      return classifier(`${opened(event.data)}took the allocation as placed: the count starts again`);
    case 'FallbackPrompted': {
      const { after, expiresAt, category, reason } = event.data;
      const why =
        reason === 'deterministic_preflight'
          ? 'a preflight proves that on-demand cannot succeed'
          : `counting failure ${after.count}, ${category}`;
      const question = `question ${shortened(event.row.eventId)}, open until ${moment(expiresAt)}`;
      return classifier(
        `${opened(event.data)}asked whether preemptible capacity may be used: ${why} (${question})`,
      );
    }
    case 'PromptRenewed':
      return {
        who: 'spillway',
        what: `renewed question ${shortened(event.data.renews)}: it is now ${shortened(event.row.eventId)}, open until ${moment(event.data.expiresAt)}`,
      };
    case 'ConsentAnswered': {
      const { accept, questionId, answeredBy } = event.data;
      return {
        who: actor(answeredBy),
        what: `answered ${accept ? 'yes' : 'no'} to question ${shortened(questionId)}`,
      };
    }
    case 'ConsentAccepted':
      return {
        who: 'consent',
        what: 'recorded consent: the identical allocation may use preemptible capacity',
      };
    case 'ConsentDeclined':
      return {
        who: 'consent',
        what: `recorded the refusal: it stays on demand, and evidence ${shortened(event.data.evidenceDigest)} is not asked about again`,
      };
    case 'ErasureRequested':
      return {
        who: actor(event.data.requestedBy),
        what: 'asked for the name and the texts to be destroyed',
      };
    case 'AllocationErased':
      return {
        who: 'operator',
        what: `erased the name and the texts${event.data.withdrew === null ? '' : `, which withdrew question ${shortened(event.data.withdrew)}`}`,
      };
    case 'ParkedRequeued':
      return {
        who: 'operator',
        what: `let ${event.data.consumer} try again from position ${event.data.firstPos}`,
      };
    case 'ParkedSkipped':
      return {
        who: 'operator',
        what: `told ${event.data.consumer} to pass over position ${event.data.skippedPos}`,
      };
    case 'ObservationReported':
    case 'ObservationJudged':
    case 'BootDeathRecorded':
    case 'BootStreakReset':
    case 'WedgeAlarmRecorded':
    case 'QueueLossRecorded':
    case 'AlertRaised':
    case 'AllocationBlocked':
    case 'AllocationDone':
      return toldOfWatch(event);
    case 'FailoverDecided':
    case 'FailoverPrompted':
    case 'FailoverAccepted':
    case 'FailoverDeclined':
    case 'FailoverVoided':
    case 'CancelDecided':
    case 'IntentRecorded':
    case 'LeaseTaken':
    case 'IntentClosed':
      return toldOfIntent(event);
    case 'LaunchRequested':
    case 'LaunchAccepted':
    case 'WalkStarted':
    case 'RungCounted':
    case 'RungSkipped':
    case 'ZoneMissed':
    case 'RungMissed':
    case 'InstancePlaced':
    case 'DeliveredPoolDiffers':
    case 'DeliveredPoolAccepted':
    case 'DeliveredPoolReleased':
    case 'PoolMoveStarted':
    case 'PoolMoveNotProvisioned':
      return toldOfProvision(event);
    case 'CancelSending':
    case 'CancelConfirmed':
    case 'CancelUnconfirmed':
    case 'CreateSending':
    case 'CreateEnded':
    case 'InstanceCreated':
    case 'InstanceAdopted':
    case 'LateInstanceSeen':
    case 'InstanceGone':
    case 'ForeignInstanceSeen':
    case 'ReapAnnounced':
    case 'ResidueReaped':
    case 'ReapFailed':
    case 'LogRewound':
    case 'RewindReleased':
    case 'RewoundAdopted':
    case 'BootstrapBegun':
    case 'DispatchSending':
    case 'WorkloadDispatched':
    case 'FailoverCompleted':
      return toldOfEffect(event);
  }
}

function reported(data: EventOf<'AttemptReported'>['data']): string {
  const what = data.success
    ? 'that the allocation was placed'
    : data.failureDigest === null
      ? 'an attempt in which nothing failed'
      : `a placement failure (${shortened(data.failureDigest)})`;
  const where = data.pool === 'other' ? ' outside on-demand capacity' : '';
  const proof = data.proof ? ', with a preflight proof' : '';
  return `${what}${where}${proof}: request ${shortened(data.requestDigest)}, evidence ${shortened(data.evidenceDigest)}`;
}

function opened(data: { readonly record: 'opened' | 'kept' }): string {
  return data.record === 'opened' ? 'opened a fresh record and ' : '';
}
