import { canonicalJson } from '#events/canonical-json';
import type { KnownEvent } from '#events/catalogue';
import { FORMAT, type RecordedEvent, slotOf, ZERO_HASH } from '#events/envelope';
import { allocationStream } from '#events/streams';
import { readEvent } from '#events/upcast';
import type { WholeDecision } from './allocation-events.ts';
import { digestOf, idOf, T0 } from './builders.ts';

const STREAM = allocationStream(digestOf('ref'));

/** A row of the log in which only what is given matters; its hashes are no chain. */
export function recordedRow(change: Partial<RecordedEvent> = {}): RecordedEvent {
  return {
    pos: 1,
    stream: STREAM,
    streamVersion: 1,
    decisionVersion: 1,
    eventId: idOf('row'),
    commandId: 'command',
    commandIndex: 0,
    commandDigest: digestOf('command'),
    type: 'PromptRenewed',
    schemaVersion: 1,
    role: 'decision',
    slot: slotOf(STREAM),
    occurredAt: T0,
    recordedAt: T0,
    body: '{}',
    meta: '{"causedBy":null,"saw":null}',
    format: FORMAT,
    prevHash: ZERO_HASH,
    hash: digestOf('hash'),
    ...change,
  };
}

/** A decision as it is read back from the log, where it is the `decisionVersion`-th of its stream. */
export function recorded(decision: WholeDecision, decisionVersion: number): KnownEvent {
  const { type, eventId, data } = decision;
  const places = { pos: decisionVersion, streamVersion: decisionVersion, decisionVersion };
  return readEvent(recordedRow({ ...places, type, eventId, body: canonicalJson(data) }));
}
