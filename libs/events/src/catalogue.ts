import { AttemptReported } from './attempt.events.ts';
import { AllocationErased, ErasureRequested, ParkedRequeued, ParkedSkipped } from './audit.events.ts';
import { AllocationSucceeded, AttemptIgnored, AttemptTracked } from './classify.events.ts';
import {
  ConsentAccepted,
  ConsentAnswered,
  ConsentDeclined,
  FailoverAccepted,
  FailoverDeclined,
} from './consent.events.ts';
import type { AppName, DataOf, EventDefinition } from './define-event.ts';
import { BootstrapBegun, DispatchSending, FailoverCompleted, WorkloadDispatched } from './dispatch.events.ts';
import type { RecordedEvent } from './envelope.ts';
import {
  AllocationBlocked,
  CancelDecided,
  FailoverDecided,
  FailoverVoided,
  IntentClosed,
  IntentRecorded,
  LeaseTaken,
} from './intent.events.ts';
import { FailoverPrompted, FallbackPrompted, PromptRenewed } from './prompt.events.ts';
import {
  CancelConfirmed,
  CancelSending,
  CancelUnconfirmed,
  CreateEnded,
  CreateSending,
  DeliveredPoolAccepted,
  DeliveredPoolDiffers,
  DeliveredPoolReleased,
  ForeignInstanceSeen,
  InstanceAdopted,
  InstanceCreated,
  InstanceGone,
  InstancePlaced,
  LateInstanceSeen,
  LaunchAccepted,
  LaunchRequested,
  LogRewound,
  PoolMoveNotProvisioned,
  PoolMoveStarted,
  ReapAnnounced,
  ReapFailed,
  ResidueReaped,
  RewindReleased,
  RewoundAdopted,
  RungCounted,
  RungMissed,
  RungSkipped,
  WalkStarted,
  ZoneMissed,
} from './provision.events.ts';
import {
  AlertRaised,
  AllocationDone,
  BootDeathRecorded,
  BootStreakReset,
  ObservationJudged,
  ObservationReported,
  QueueLossRecorded,
  WedgeAlarmRecorded,
} from './watch.events.ts';

/** Everything that can happen, once. */
export const CATALOGUE = {
  AttemptReported,
  AttemptTracked,
  AttemptIgnored,
  AllocationSucceeded,
  FallbackPrompted,
  PromptRenewed,
  ConsentAnswered,
  ConsentAccepted,
  ConsentDeclined,
  ObservationReported,
  ObservationJudged,
  BootDeathRecorded,
  BootStreakReset,
  WedgeAlarmRecorded,
  QueueLossRecorded,
  AlertRaised,
  FailoverDecided,
  FailoverPrompted,
  FailoverAccepted,
  FailoverDeclined,
  FailoverVoided,
  AllocationBlocked,
  AllocationDone,
  CancelDecided,
  IntentRecorded,
  LeaseTaken,
  IntentClosed,
  LaunchRequested,
  LaunchAccepted,
  WalkStarted,
  RungCounted,
  RungSkipped,
  ZoneMissed,
  RungMissed,
  InstancePlaced,
  DeliveredPoolDiffers,
  DeliveredPoolAccepted,
  DeliveredPoolReleased,
  PoolMoveNotProvisioned,
  PoolMoveStarted,
  CancelConfirmed,
  CancelSending,
  CancelUnconfirmed,
  CreateSending,
  CreateEnded,
  InstanceCreated,
  InstanceAdopted,
  LateInstanceSeen,
  InstanceGone,
  ForeignInstanceSeen,
  ReapAnnounced,
  ResidueReaped,
  ReapFailed,
  LogRewound,
  RewindReleased,
  RewoundAdopted,
  BootstrapBegun,
  DispatchSending,
  WorkloadDispatched,
  FailoverCompleted,
  ErasureRequested,
  AllocationErased,
  ParkedRequeued,
  ParkedSkipped,
} as const;

export type EventType = keyof typeof CATALOGUE;
export type DataOfType<Type extends EventType> = DataOf<(typeof CATALOGUE)[Type]>;

/** A recorded event whose body has been read: a union by `type`. */
export type KnownEvent = {
  [Type in EventType]: {
    readonly type: Type;
    readonly data: DataOfType<Type>;
    readonly row: RecordedEvent;
    /** Of the row: the folds also take facts that have none yet. */
    readonly eventId: string;
    /** Domain time of the row. */
    readonly at: string;
  };
}[EventType];

/** The event types that an app handles: what `consumedBy` says. */
export type ConsumedBy<App extends AppName> = {
  [Type in EventType]: App extends (typeof CATALOGUE)[Type]['consumedBy'][number] ? Type : never;
}[EventType];

/** Definition by name; null for a type that this version does not know. */
export function definitionOf(type: string): EventDefinition | null {
  return isEventType(type) ? CATALOGUE[type] : null;
}

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(CATALOGUE, type);
}
