import type { KnownEvent } from '#events/catalogue';

/** Who did what, in plain words: a line of the story. */
export interface Told {
  readonly who: string;
  readonly what: string;
}

export type EventOf<Type extends KnownEvent['type']> = Extract<KnownEvent, { readonly type: Type }>;

const SHORT = 8;

/** The first eight characters: enough to recognise a digest or an id within one story. */
export function shortened(digest: string): string {
  return digest.length <= SHORT ? digest : `${digest.slice(0, SHORT)}…`;
}

/** A longer id of a machine is shortened. */
const MACHINE_MAX_CHARS = 24;

/**
 * A machine by the end of its id, which tells machines of one story apart; short ids stay whole. What is left out
 * is in `machines` of the line (timeline.ts).
 */
export function machine(id: string): string {
  if (id.length <= MACHINE_MAX_CHARS) return id;
  const last = id.slice(id.lastIndexOf('/') + 1);
  if (last.length > 0 && last.length <= MACHINE_MAX_CHARS) return `…/${last}`;
  return `${id.slice(0, SHORT)}…${id.slice(-MACHINE_MAX_CHARS + SHORT)}`;
}

/** An instant of the log to the second, as people write it: `2026-11-29 10:05:00 UTC`. */
export function moment(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

/** The digest of a caller, or `local`. */
export function actor(subject: string): string {
  return subject === 'local' ? 'local' : `caller ${shortened(subject)}`;
}

export function teller(who: string): (what: string) => Told {
  return (what) => ({ who, what });
}
