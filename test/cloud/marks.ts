import type { CloudMark } from './instance.ts';

/** The mark as a pod's env carries it. */
export function markOf(env: Readonly<Record<string, string>>): CloudMark {
  return {
    deployment: env.SPILLWAY_DEPLOYMENT ?? null,
    allocation: env.SPILLWAY_ALLOCATION ?? null,
    intent: env.SPILLWAY_INTENT ?? null,
  };
}

/** The mark as labels carry it, in either spelling. */
export function labelMarkOf(labels: Readonly<Record<string, string>>): CloudMark {
  const read = (name: string) => labels[`spillway-${name}`] ?? labels[`spillway/${name}`] ?? null;
  return { deployment: read('deployment'), allocation: read('allocation'), intent: read('intent') };
}

const ID_DIGITS = 19;

/** Ids are numbers of nineteen digits there, and never used twice. */
export function numericId(): string {
  const digits = Array.from({ length: ID_DIGITS - 1 }, () => Math.floor(Math.random() * 10));
  return `1${digits.join('')}`;
}
