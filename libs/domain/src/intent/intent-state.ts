import type { DataOfType, EventType } from '#events/catalogue';
import type { Entry } from '#events/intent.events';

/** How the newest create call of an intent ended, if the log knows. */
export interface CreateEnd {
  readonly answer: DataOfType<'CreateEnded'>['answer'];
  readonly code: string | null;
  readonly failureDigest: string | null;
  readonly speaksOfShortage: boolean;
  readonly endedAt: string;
  readonly notBefore: string | null;
}

/** A look found nothing, and the text of the lost answer spoke of missing capacity: now it counts (failover 9.2). */
export function asShortage(ended: CreateEnd): CreateEnd {
  return ended.answer === 'outcome_unknown' ? { ...ended, answer: 'capacity' } : ended;
}

/** One intent with everything that was recorded under it. Open while `closed` is null. */
export interface IntentState {
  readonly intent: string;
  readonly name: string;
  readonly lane: string;
  readonly entry: Entry;
  readonly chain: string;
  /** Null = a restored log has forgotten it. */
  readonly requestDigest: string | null;
  /** Version of the launch that it belongs to: a later launch looks for its own only (failover 14). */
  readonly launchVersion: number;
  /** Creates that were announced. */
  readonly sends: number;
  /** Of those, the ones whose outcome the log does not know. */
  readonly unknownSends: number;
  readonly sendNotAfter: string | null;
  readonly ended: CreateEnd | null;
  /** The machine that answers for this intent now, by the provider's id. */
  readonly instance: string | null;
  readonly instanceCreatedAt: string | null;
  readonly instancePool: string | null;
  readonly costPerHourUsd: number | null;
  /** When its bootstrap began; null = it never did: the machine is healthy. */
  readonly bootstrapBegunAt: string | null;
  /** Dispatches that were announced: from the first on the workload may have run. */
  readonly dispatches: number;
  readonly running: boolean;
  /** A terminate that was announced and whose result the log does not know. */
  readonly reaping: string | null;
  readonly reaped: readonly string[];
  /** Why it ended; null = open. */
  readonly closed: DataOfType<'IntentClosed'>['why'] | 'placed' | 'completed' | null;
}

/** An event of the catalogue as far as this fold reads it. */
type IntentFact = {
  [Type in EventType]: { readonly type: Type; readonly data: DataOfType<Type> };
}[EventType];

/** Folds one fact into the intents; the same array when it concerns none. It chooses nothing. */
export function evolveIntents(
  intents: readonly IntentState[],
  event: IntentFact,
  launchVersion: number,
): readonly IntentState[] {
  if (event.type === 'IntentRecorded') return [...intents, opened(event.data, launchVersion)];
  if (event.type === 'RewoundAdopted') return [...intents, adopted(event.data, launchVersion)];
  const named = intentNamedBy(event);
  if (named === null) return intents;
  return intents.map((intent) =>
    intent.intent === named ? { ...intent, ...changeBy(intent, event) } : intent,
  );
}

type Opened = Pick<IntentState, 'intent' | 'name' | 'lane' | 'entry' | 'chain' | 'requestDigest'>;

function opened(data: Opened, launchVersion: number): IntentState {
  const { intent, name, lane, entry, chain, requestDigest } = data;
  return {
    intent,
    name,
    lane,
    entry,
    chain,
    requestDigest,
    launchVersion,
    sends: 0,
    unknownSends: 0,
    sendNotAfter: null,
    ended: null,
    instance: null,
    instanceCreatedAt: null,
    instancePool: null,
    costPerHourUsd: null,
    bootstrapBegunAt: null,
    dispatches: 0,
    running: false,
    reaping: null,
    reaped: [],
    closed: null,
  };
}

/** Taken over as it is: one create, one dispatch that may have run, and closed. */
function adopted(data: DataOfType<'RewoundAdopted'>, launchVersion: number): IntentState {
  const byDispatch = data.entry.kind === 'terminal';
  return {
    ...opened({ ...data, requestDigest: null }, launchVersion),
    sends: 1,
    instance: data.instance,
    dispatches: byDispatch ? 1 : 0,
    running: byDispatch,
    closed: byDispatch ? 'completed' : 'placed',
  };
}

function intentNamedBy(event: IntentFact): string | null {
  return 'intent' in event.data ? event.data.intent : null;
}

function changeBy(intent: IntentState, event: IntentFact): Partial<IntentState> {
  switch (event.type) {
    case 'CreateSending':
      return {
        sends: event.data.number,
        unknownSends: intent.unknownSends + 1,
        sendNotAfter: event.data.sendNotAfter,
        ended: null,
      };
    case 'CreateEnded': {
      const { intent: _, ...ended } = event.data;
      const { answer } = ended;
      const unknown = answer === 'outcome_unknown';
      return {
        ended,
        unknownSends: unknown ? intent.unknownSends : intent.unknownSends - 1,
      };
    }
    case 'InstanceCreated':
    case 'InstanceAdopted': {
      const { instance, createdAt, pool, costPerHourUsd } = event.data;
      return {
        instance,
        instanceCreatedAt: createdAt,
        instancePool: pool,
        costPerHourUsd,
        unknownSends: Math.max(0, intent.unknownSends - 1),
      };
    }
    case 'LateInstanceSeen':
      return { instance: intent.instance ?? event.data.instance };
    case 'BootstrapBegun':
      return { bootstrapBegunAt: event.data.begunAt };
    case 'DispatchSending':
      return { dispatches: event.data.number };
    case 'WorkloadDispatched':
      return { running: true };
    case 'ReapAnnounced':
      return { reaping: event.data.instance };
    case 'ResidueReaped':
      return {
        reaping: null,
        reaped: [...intent.reaped, event.data.instance],
        instance: intent.instance === event.data.instance ? null : intent.instance,
      };
    case 'IntentClosed':
      return { closed: event.data.why };
    case 'InstancePlaced':
    case 'DeliveredPoolAccepted':
      return { closed: 'placed', instance: event.data.instance };
    case 'FailoverCompleted':
      return { closed: 'completed', instance: event.data.instance, running: true };
    default:
      return {};
  }
}
