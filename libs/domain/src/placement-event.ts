import type { EventType, KnownEvent } from '#events/catalogue';

/** A decision or fact, recorded or about to be: what the fold reads of it. */
export type PlacementEvent = {
  [Type in EventType]: {
    readonly type: Type;
    readonly data: Extract<KnownEvent, { readonly type: Type }>['data'];
  };
}[EventType] & {
  readonly eventId: string;
  /** Domain time of the fact (failover 3.4). */
  readonly at: string;
};
