import { z } from 'zod';
import type { AuditedState } from '#domain/audit/audited-state';
import { stateView } from '#domain/audit/state-view';
import type { StateView } from '#domain/audit/views';
import type { LogReader } from '#domain/log';
import { instantMs } from '#events/instant';
import { followStream, STREAM_BEGIN, type StreamReader } from './stream-states.ts';

/** A moment of the log: a position, or a time on its own clock. */
export type AsOf = { readonly pos: number } | { readonly time: string };

const POSITION = /^\d{1,15}$/;
const Time = z.iso.datetime({ offset: true });

/** A position in digits or a time as RFC 3339 with its offset (`2026-11-29T12:00:00Z`); null for anything else. */
export function parseAsOf(text: string): AsOf | null {
  if (POSITION.test(text)) return { pos: Number(text) };
  if (!Time.safeParse(text).success || Number.isNaN(instantMs(text))) return null;
  return { time: new Date(instantMs(text)).toISOString() };
}

type Positions = Pick<LogReader, 'head' | 'at'>;

/**
 * The last position that was recorded at or before a time; 0 when the log begins later. Recorded times never go
 * back, so a few reads find it in a log of any length.
 */
export async function positionAt(log: Positions, time: string): Promise<number> {
  const wantedMs = instantMs(time);
  let before = 0;
  let after = (await log.head()).pos + 1;
  while (after - before > 1) {
    const middle = before + Math.floor((after - before) / 2);
    const row = await log.at(middle);
    if (row !== null && instantMs(row.recordedAt) <= wantedMs) before = middle;
    else after = middle;
  }
  return before;
}

/**
 * The state of an allocation after the last of its events at or before a moment; null when it has none by then.
 * What bills is counted up to that moment.
 */
export async function stateAsOf(
  log: StreamReader & Positions,
  stream: string,
  asOf: AsOf,
): Promise<StateView | null> {
  const upTo = 'pos' in asOf ? asOf.pos : await positionAt(log, asOf.time);
  const { state, unreadable } = await followStream(log, stream, STREAM_BEGIN, () => {}, upTo);
  if (state.pos === 0 && unreadable === null) return null;
  return stateView(state, 'time' in asOf ? asOf.time : await timeOf(log, state, upTo), unreadable);
}

/** The state of an allocation now; null when the log has nothing of it. What bills is counted up to `at`. */
export async function stateNow(log: StreamReader, stream: string, at: string): Promise<StateView | null> {
  const { state, unreadable } = await followStream(log, stream, STREAM_BEGIN, () => {});
  return state.pos === 0 && unreadable === null ? null : stateView(state, at, unreadable);
}

/** When the log was at a position; beyond its end, when the allocation's last event was recorded. */
async function timeOf(log: Positions, state: AuditedState, pos: number): Promise<string> {
  return (await log.at(pos))?.recordedAt ?? state.at;
}
