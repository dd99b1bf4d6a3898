import { CATALOGUE, type DataOfType, type EventType } from '#events/catalogue';
import type { NewEvent } from '#events/define-event';
import { type Allocation, evolve, isAllocationFact } from './allocation.ts';
import type { Placement } from './placement.ts';
import { evolvePlacement } from './placement-fold.ts';

/** What a rule decided: an event to record, without ids, times and hashes, which are the caller's. */
export type Fact = {
  [Type in EventType]: { readonly type: Type; readonly data: DataOfType<Type> };
}[EventType];

/**
 * The event as the log takes it. Throws for a fact that its own definition does not take: recorded, it would
 * halt every reader of the log.
 */
export function eventOfFact(fact: Fact): NewEvent {
  const { type, version, role, data } = CATALOGUE[fact.type];
  return { type, version, role, data: data.parse(fact.data) };
}

/** Where an allocation stands in both its halves. */
export interface Standing {
  readonly placement: Placement;
  readonly record: Allocation;
}

/**
 * Both halves after facts that are about to be recorded, for the rows beside the log. `eventIdAt` gives the id of
 * the fact at a place; `at` is the domain time of all of them.
 */
export function afterFacts(
  before: Standing,
  facts: readonly Fact[],
  { at, eventIdAt }: { readonly at: string; readonly eventIdAt: (index: number) => string },
): Standing {
  return facts.reduce<Standing>(({ placement, record }, fact, index) => {
    const event = { ...fact, eventId: eventIdAt(index), at };
    return {
      placement: evolvePlacement(placement, event),
      record: isAllocationFact(event) ? evolve(record, event) : { ...record, version: record.version + 1 },
    };
  }, before);
}
