import { AttemptReported } from './attempt.events.ts';
import { AllocationErased, ParkedRequeued, ParkedSkipped } from './audit.events.ts';
import { AllocationSucceeded, AttemptIgnored, AttemptTracked } from './classify.events.ts';
import { ConsentAccepted, ConsentAnswered, ConsentDeclined } from './consent.events.ts';
import type { AppName, DataOf, EventDefinition } from './define-event.ts';
import type { RecordedEvent } from './envelope.ts';
import { FallbackPrompted, PromptRenewed } from './prompt.events.ts';

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
