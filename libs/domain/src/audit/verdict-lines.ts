import type { Evidence, Verdict } from '#events/watch.events';
import type { Explanation } from '../explanation.ts';

/** Why a decision of the failover is what it is: its rule, its facts, and which rules did not fire (failover 13). */
export function verdictLines({ rule, evidence, notFired }: Verdict): readonly Explanation[] {
  const facts = Object.entries(evidence).map(([name, value]) => `${name}=${shown(value)}`);
  return [
    { code: `rule:${rule}`, text: 'This rule of the failover decided.' },
    ...line('facts', facts, 'The facts it used, and the limits they were compared with.'),
    ...line('not_fired', notFired, 'Rules that did not fire, each with the first condition that failed.'),
  ];
}

function line(name: string, parts: readonly string[], text: string): readonly Explanation[] {
  return parts.length === 0 ? [] : [{ code: `${name}:${parts.join(', ')}`, text }];
}

function shown(value: Evidence[string]): string {
  return Array.isArray(value) ? `[${value.join(' ')}]` : String(value);
}
