import type { Entry } from '#events/intent.events';
import { allocationRefOf } from '#events/streams';
import type { IntentMark } from './lane.ts';

/** As `markOf` writes it; a deployment's id is at most 12 characters of lower case (failover 1). */
const NAME = /^sw-([a-z][a-z0-9]{0,11})-([0-9a-f]{16})-([a-z2-7]{26})$/;

/** The first 16 hex digits of an allocation's ref: what a marker says of it. */
export function shortRefOf(stream: string): string {
  return allocationRefOf(stream).slice(0, 16);
}

/** What an instance of this intent carries from its create call: at most 59 characters of name (failover 1). */
export function markOf(deployment: string, stream: string, intent: string): IntentMark {
  const allocation = shortRefOf(stream);
  return { name: `sw-${deployment}-${allocation}-${intent}`, deployment, allocation, intent };
}

/** What a name in our form says; null for every other name. */
export function readName(name: string): Omit<IntentMark, 'name'> | null {
  const [, deployment, allocation, intent] = NAME.exec(name) ?? [];
  if (deployment === undefined || allocation === undefined || intent === undefined) return null;
  return { deployment, allocation, intent };
}

/**
 * The chain of an intent: all intents of one failed instance, or of one entry of one placement (failover 1).
 * Reaps are counted per chain.
 */
export function chainOf(entry: Entry, owner: string): string {
  return entry.kind === 'terminal' ? `terminal:${owner}` : `rung:${owner}:${entry.rung}:${entry.zone ?? ''}`;
}
