import type { LogReader } from '#domain/log';
import type { RecordedEvent } from '#events/envelope';
import type { RunStart } from './bus-tail.ts';
import type { Bus } from './connect-bus.ts';
import { eventMessage, messageIdOf } from './event-message.ts';
import type { PreviousPositions } from './previous-positions.ts';
import { PublishWindow, type WindowFailure } from './publish-window.ts';
import type { Topology } from './topology.ts';
import type { Wake } from './wake.ts';

export interface RunLimits {
  /** Published and not yet confirmed, in messages. */
  readonly maxInFlight: number;
  /** Rows of one read of the log. */
  readonly readRows: number;
  /** The log is read at least this often, notice or not. */
  readonly pollMs: number;
  /**
   * At least so long from a read to the next one, unless there is more to read at once: what is appended meanwhile
   * travels together. Consumers go by the log, so nobody waits for it.
   */
  readonly gapMs: number;
  readonly ackTimeoutMs: number;
  /** A run that is idle for so long ends, so that the stream is looked at again. */
  readonly tailCheckMs: number;
  /** Rows looked back through for each partition's previous position. */
  readonly lookBackRows: number;
  /** Longer rows travel without their body; the broker's own limit holds in any case. */
  readonly maxBodyBytes: number;
}

export interface RunPorts {
  readonly bus: Bus;
  readonly log: Pick<LogReader, 'logId' | 'readAfter'>;
  readonly topology: Topology;
  readonly limits: RunLimits;
  readonly previous: PreviousPositions;
  /** Rung when the log has grown, or there is another reason to look up. */
  readonly wake: Wake;
  readonly mayGoOn: () => boolean;
  readonly onState: (state: 'idle' | 'relaying') => void;
  readonly onStored: (pos: number) => void;
}

export interface RunEnd {
  /** Null: ended to look at the stream again, to stand by or to stop. */
  readonly failure: WindowFailure | null;
  readonly stored: number;
}

/** The log could not be read: the bus is not to blame. */
export class LogFault extends Error {
  override readonly name = 'LogFault';
}

/**
 * Copies the log to the bus from `start` until something fails or there is reason to look again. The first
 * message names the sequence that the stream ended with, and `firstExpectedId`; each later one the id of the
 * one before it. Throws LogFault, or BusDown.
 */
export async function runRelay(
  ports: RunPorts,
  start: RunStart,
  firstExpectedId: string | null,
): Promise<RunEnd> {
  const { bus, log, topology, limits, previous, wake } = ports;
  const { epoch } = bus;
  const connection = bus.connection();
  const logId = await ofLog(log.logId());
  await ofLog(previous.moveTo(start.pos, start.hash));
  const brokerLimit = (connection.info?.max_payload ?? 1_048_576) - HEADERS_BYTES;
  const maxBodyBytes = Math.min(limits.maxBodyBytes, brokerLimit);
  let stored = 0;
  const onStored = (pos: number) => {
    stored += 1;
    ports.onStored(pos);
  };
  const window = new PublishWindow(connection, bus.inboxPrefix, limits, onStored, () => wake.ring());
  const endWatch = bus.onState(() => window.fail('unavailable'));
  const reader = readAhead(log, limits.readRows);
  let at = { pos: start.pos, hash: start.hash };
  let quietMs = 0;
  try {
    while (window.failure === null && ports.mayGoOn() && bus.epoch === epoch) {
      const rows = await ofLog(reader(at.pos));
      if (rows.length === 0) {
        ports.onState('idle');
        if (quietMs >= limits.tailCheckMs) break;
        quietMs += (await wake.wait(limits.pollMs)) ? 0 : limits.pollMs;
        continue;
      }
      quietMs = 0;
      ports.onState('relaying');
      const gapEnds = rows.length < limits.readRows ? pause(limits.gapMs) : null;
      for (const row of rows) {
        // The log was exchanged under us (a restored backup): what the bus holds has to be judged anew.
        if (row.pos !== at.pos + 1 || row.prevHash !== at.hash) return { failure: null, stored };

        const expected =
          at.pos === start.pos
            ? { lastId: firstExpectedId, lastSequence: start.lastSequence }
            : { lastId: messageIdOf(logId, at.pos, at.hash), lastSequence: null };
        at = { pos: row.pos, hash: row.hash };
        const message = eventMessage(topology, logId, row, previous.step(row), expected, maxBodyBytes);
        // Awaited only where it has to wait: each turn of the event loop costs a write (measured: one a row).
        if (window.isFull) await window.untilRoom();
        if (!window.send(message, row.pos)) break;
      }
      await gapEnds;
    }
    // Ending on purpose: what is in flight is confirmed first, so that the next look sees it.
    await window.settled();
    return { failure: window.failure, stored };
  } finally {
    endWatch();
    window.close();
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Room for the headers, which count as payload. */
const HEADERS_BYTES = 8_192;

/** Reads the next rows while those before are on their way, once there is more than one read's worth. */
function readAhead(
  log: Pick<LogReader, 'readAfter'>,
  limit: number,
): (pos: number) => Promise<readonly RecordedEvent[]> {
  let ahead: { readonly pos: number; readonly rows: Promise<readonly RecordedEvent[]> } | null = null;
  return async (pos) => {
    const rows = await (ahead?.pos === pos ? ahead.rows : log.readAfter(pos, limit));
    const last = rows.at(-1);
    ahead = null;
    if (last !== undefined && rows.length === limit) {
      ahead = { pos: last.pos, rows: log.readAfter(last.pos, limit) };
      // Reported when it is asked for; until then it must not end the process.
      ahead.rows.catch(() => {});
    }
    return rows;
  };
}

export async function ofLog<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw new LogFault('the log could not be read', { cause: error });
  }
}
