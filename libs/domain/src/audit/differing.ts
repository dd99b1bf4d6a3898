import type { RecordedEvent } from '#events/envelope';

export type Compared = string | number | boolean | null;

/** What is recorded is not what today's rules give. `pos` is the event's, or the one that the table names. */
export interface Difference {
  readonly stream: string;
  readonly pos: number;
  /**
   * `after.<scalar>`, `decisionVersion`, `saw`, `streamVersion`, `event`, `judged.<member>`, or
   * `table.<column>`.
   */
  readonly member: string;
  readonly recorded: Compared;
  readonly folded: Compared;
}

export type Place = Pick<RecordedEvent, 'stream' | 'pos'>;

export function difference(
  { stream, pos }: Place,
  member: string,
  recorded: Compared,
  folded: Compared,
): Difference {
  return { stream, pos, member, recorded, folded };
}

/** The members in which two values differ, by path below `prefix`; none = they are the same. */
export function differing(
  place: Place,
  prefix: string,
  recorded: unknown,
  folded: unknown,
): readonly Difference[] {
  if (isSame(recorded, folded)) return [];
  const ours = leavesOf(folded, prefix);
  const theirs = leavesOf(recorded, prefix);
  return [...new Set([...theirs.keys(), ...ours.keys()])].flatMap((member) => {
    const [one, other] = [theirs.get(member) ?? null, ours.get(member) ?? null];
    return one === other ? [] : [difference(place, member, one, other)];
  });
}

/** The ordinary case without building anything: it is asked once for every decision of the log. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((member, index) => isSame(member, other[index]));
  }
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  for (const name of names) if (!isSame(Reflect.get(one, name), Reflect.get(other, name))) return false;
  return true;
}

/** Every leaf by its path; a list of plain values is one leaf. */
function leavesOf(value: unknown, path: string): ReadonlyMap<string, Compared> {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return new Map([[path, value]]);
  }
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) {
    return new Map([[path, value.join(' ')]]);
  }
  if (typeof value !== 'object' || value === null) return new Map([[path, null]]);
  return new Map(Object.entries(value).flatMap(([name, member]) => [...leavesOf(member, `${path}.${name}`)]));
}
