import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { NewEvent } from './define-event.ts';

/** A value that has no exact JSON form. The message names the place, never the value. */
export class NotJson extends TypeError {
  override readonly name = 'NotJson';
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * The RFC 8785 text of a value: one value, one text, in every process and version (design 5). Throws NotJson
 * for what JSON would drop or change without a word: undefined, a number that is not finite, half of a
 * surrogate pair, anything but plain objects and arrays.
 */
export function canonicalJson(value: unknown): string {
  refuseInexact(value, '');
  const text = canonicalize(value);
  if (text === undefined) throw new NotJson('the value has no JSON form');
  return text;
}

/** SHA-256 over the events' type, version and body: what a command says, without time, trace or nonce. */
export function contentDigest(events: readonly NewEvent[]): string {
  const content = events.map(({ type, version, data }) => ({ type, version, data }));
  return createHash('sha256').update(canonicalJson(content)).digest('hex');
}

function refuseInexact(value: unknown, path: string): void {
  switch (typeof value) {
    case 'string':
      if (LONE_SURROGATE.test(value)) throw new NotJson(`half of a surrogate pair at "${path}"`);
      return;
    case 'number':
      if (!Number.isFinite(value)) throw new NotJson(`a number that is not finite at "${path}"`);
      return;
    case 'boolean':
      return;
    case 'object':
      break;
    default:
      throw new NotJson(`${typeof value} at "${path}"`);
  }
  if (value === null) return;
  if (Array.isArray(value)) {
    // An index loop, since a hole in the array is skipped by forEach and would become null unseen.
    for (let index = 0; index < value.length; index++) refuseInexact(value[index], `${path}/${index}`);
    return;
  }

  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new NotJson(`no plain object at "${path}"`);
  for (const [name, member] of Object.entries(value)) {
    if (LONE_SURROGATE.test(name))
      throw new NotJson(`half of a surrogate pair in a member name at "${path}"`);
    refuseInexact(member, `${path}/${name}`);
  }
}
