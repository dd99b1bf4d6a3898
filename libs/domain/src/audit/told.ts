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

/** The digest of a caller, or `local`. */
export function actor(subject: string): string {
  return subject === 'local' ? 'local' : `caller ${shortened(subject)}`;
}

export function teller(who: string): (what: string) => Told {
  return (what) => ({ who, what });
}
