interface ListedEvent {
  readonly warning: boolean;
  readonly placing: boolean;
  readonly bound: boolean;
  readonly ageSeconds: number;
  readonly text: string;
}

/** Reasons that Kubernetes gives before a pod is bound to a node. Every other one comes after. */
const PLACING_REASONS: ReadonlySet<string> = new Set(
  'failedscheduling nottriggerscaleup triggeredscaleup failedscaleup scheduled'.split(' '),
);

const AGE = '(\\d{1,6}[smhd](?:\\d{1,6}[smhd]){0,3})(?: \\(x\\d{1,7} over [^)]{1,20}\\))?';
const DESCRIBED = new RegExp(`(?<!\\w)(normal|warning) ([a-z]{3,60}) ${AGE} [a-z][\\w-]{2,60} `, 'g');
const LISTED = new RegExp(`(?<!\\w)${AGE} (normal|warning) ([a-z]{3,60}) \\S{3,200} `, 'g');

/**
 * Of a Kubernetes event list only what still holds: a scheduling failure from before the pod was bound is
 * history, and so is a pull failure of an earlier try when the newest warning is about scheduling
 * (fallback 2.3). Text that is no such list is returned as it is.
 */
export function currentEvents(text: string): string {
  const described = [...text.matchAll(DESCRIBED)].map((match) => at(match, match[1], match[2], match[3]));
  const listed = [...text.matchAll(LISTED)].map((match) => at(match, match[2], match[3], match[1]));
  const heads = described.length >= listed.length ? described : listed;
  const first = heads[0];
  if (first === undefined || heads.length < 2) return text;

  const events = heads.map(
    (head, index): ListedEvent => ({
      warning: head.type === 'warning',
      placing: PLACING_REASONS.has(head.reason),
      bound: head.reason === 'scheduled',
      ageSeconds: head.ageSeconds,
      text: text.slice(head.start, heads[index + 1]?.start ?? text.length).trim(),
    }),
  );
  const current = events.filter((event) => holds(event, events)).map((event) => event.text);
  // The full stop ends each event, so that no rule reads two of them as one sentence.
  return [text.slice(0, first.start).trim(), ...current].filter((part) => part !== '').join('. ');
}

function holds(event: ListedEvent, events: readonly ListedEvent[]): boolean {
  if (!event.warning) return true;

  const newer = (other: ListedEvent) => other.ageSeconds < event.ageSeconds;
  if (event.placing) return !events.some((other) => newer(other) && (other.bound || !other.placing));
  return !events.some((other) => newer(other) && other.warning && other.placing);
}

function at(match: RegExpMatchArray, type = '', reason = '', age = '') {
  return { start: match.index ?? 0, type, reason, ageSeconds: seconds(age) };
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function seconds(age: string): number {
  let total = 0;
  for (const [, count, unit] of age.matchAll(/(\d+)([smhd])/g))
    total += Number(count) * (SECONDS[unit ?? ''] ?? 0);
  return total;
}
