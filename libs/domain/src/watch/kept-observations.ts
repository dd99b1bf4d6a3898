import type { KnownEvent } from '#events/catalogue';

/** What stands in the stream of the polls that are kept as events (failover 3.8). */
export interface KeptObservations {
  /** Of each instance the newest `observedAt` that is kept. */
  readonly newest: ReadonlyMap<string, string>;
  /** Event ids of polls that nobody has judged yet. */
  readonly unjudged: ReadonlySet<string>;
}

export const NOTHING_KEPT: KeptObservations = { newest: new Map(), unjudged: new Set() };

/** One is kept every so often, so that the log shows that somebody watched (failover 3.8). */
export const KEEP_EVERY_MS = 10 * 60 * 1000;

/** Folds a recorded event; the same value when it concerns no poll. `causedBy` is that of the event's meta. */
export function evolveKept(
  before: KeptObservations,
  event: KnownEvent,
  causedBy: string | null,
): KeptObservations {
  switch (event.type) {
    case 'ObservationReported': {
      const { instance, observedAt } = event.data.observation;
      const known = before.newest.get(instance);
      const newest =
        known !== undefined && known >= observedAt
          ? before.newest
          : new Map([...before.newest, [instance, observedAt]]);
      return { newest, unjudged: new Set([...before.unjudged, event.row.eventId]) };
    }
    case 'ObservationJudged':
      if (causedBy === null || !before.unjudged.has(causedBy)) return before;
      return { ...before, unjudged: new Set([...before.unjudged].filter((id) => id !== causedBy)) };
    default:
      return before;
  }
}
