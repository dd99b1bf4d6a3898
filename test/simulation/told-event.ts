import type { KnownEvent } from '#events/catalogue';

/** What does not help whoever reads a story: digests, names that repeat an id, and everything of a plan. */
const LEFT_OUT = /digest|^name$|^plan$|^after$|reportedBy|requestedBy|ringKeyId|^code$/i;

/** An event in one short line of a story. */
export function toldEvent({ type, data }: KnownEvent): string {
  return [type, ...membersOf(data)].join(' ');
}

function membersOf(data: object): readonly string[] {
  return Object.entries(data).flatMap(([name, value]) => {
    if (LEFT_OUT.test(name) || value === null) return [];
    return [`${name}=${told(name, value)}`];
  });
}

function told(name: string, value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map((one) => told(name, one)).join(' ')}]`;
  if (name === 'verdict') return verdictOf(value);
  if (name === 'facts') return '...';
  return `(${membersOf(value).join(' ')})`;
}

function verdictOf(value: object): string {
  const member = (name: string) => ('outcome' in value ? Reflect.get(value, name) : null);
  return [member('outcome'), member('reason'), member('rule')].filter((one) => one !== null).join('/');
}
