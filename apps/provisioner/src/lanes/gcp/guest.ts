import { z } from 'zod';
import type { GuestPhase } from '#domain/provision/lane';

/** What the guest writes about itself, in the namespace `spillway`. */
const Attributes = z.object({
  queryValue: z.object({
    items: z.array(z.object({ namespace: z.string(), key: z.string(), value: z.string() })).default([]),
  }),
});
const Phase = z.enum(['boot', 'setup', 'workload', 'finalizing', 'failed', 'done', 'done_unclean', 'wedged']);

export interface GuestReading {
  readonly phase: GuestPhase;
  readonly workloadStarted: boolean | null;
  readonly logAgeS: number | null;
}

/** The guest's own words, or null when they cannot be read. A phase of another spelling is unreadable. */
export function readGuest(json: unknown, nowMs: number): GuestReading | null {
  const items = Attributes.safeParse(json).data?.queryValue.items ?? [];
  const said = (key: string) =>
    items.find((item) => item.namespace === 'spillway' && item.key === key)?.value.trim() ?? '';
  const phase = Phase.safeParse(said('phase')).data;
  if (phase === undefined) return null;
  return { phase, workloadStarted: flagOf(said('workload-started')), logAgeS: ageOf(said('log-at'), nowMs) };
}

function flagOf(text: string): boolean | null {
  return text === 'true' ? true : text === 'false' ? false : null;
}

function ageOf(instant: string, nowMs: number): number | null {
  const ms = Date.parse(instant);
  return Number.isFinite(ms) ? Math.max(0, (nowMs - ms) / 1_000) : null;
}
