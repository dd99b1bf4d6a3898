import type { DataOfType, KnownEvent } from '#events/catalogue';
import type { Scalars } from '#events/scalars';
import type { Observation } from '#events/watch.events';
import type { Fact } from '../fact.ts';
import type { Placement } from '../placement.ts';
import { judgeObservation } from '../watch/judge.ts';
import { type Difference, difference, differing, type Place } from './differing.ts';

/** What today's rules say must follow in a command, of what has not been read yet. */
export interface Due {
  readonly commandId: string;
  readonly place: Place;
  readonly facts: readonly Fact[];
}

/**
 * Judges a recorded observation again, on the state that its judgement saw (design 7). The rules need nothing
 * else but the mark, which the judgement carries.
 */
export function judgeAgain(
  placement: Placement,
  { version, scalars }: { readonly version: number; readonly scalars: Scalars },
  observation: Observation,
  { row, data }: { readonly row: KnownEvent['row']; readonly data: DataOfType<'ObservationJudged'> },
): readonly Fact[] {
  const unknown = '0'.repeat(64);
  return judgeObservation(placement, { version, scalars, declined: [], provenance: [] }, observation, {
    mark: data.mark,
    // Keyed digests, times and ids are taken over from what is recorded.
    question: { ref: '', askedAt: row.recordedAt, tokenLifeS: 0, digestOf: () => unknown },
    eventIdAt: () => '',
  });
}

/** What a recorded event says otherwise than today's rules do in its place. */
export function differingFact(event: KnownEvent, ours: Fact | undefined): readonly Difference[] {
  if (ours === undefined) return [difference(event.row, 'judged', event.type, 'nothing')];
  if (event.type !== ours.type) return [difference(event.row, 'judged', event.type, ours.type)];
  return differing(event.row, 'judged', comparable(event.data), comparable(ours.data));
}

/** Facts that today's rules decide and that were never recorded. */
export function missingFacts(due: Due | null): readonly Difference[] {
  return due === null ? [] : due.facts.map(({ type }) => difference(due.place, 'judged', 'nothing', type));
}

/** Without what a rule cannot know, and without the record after it, which is folded and compared by itself. */
const NOT_JUDGED = ['after', 'actionDigest', 'evidenceDigest', 'askedAt', 'expiresAt'];

function comparable(data: object): object {
  if (!NOT_JUDGED.some((name) => Object.hasOwn(data, name))) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => !NOT_JUDGED.includes(name)));
}
