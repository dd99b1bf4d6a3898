import { type Command, InvalidCommand } from '#domain/log';
import { canonicalJson } from '#events/canonical-json';
import { eventIdOf, slotOf } from '#events/envelope';

/** Bounds of what can be stored. Sizes are UTF-8 bytes. */
export const MAX_EVENTS_PER_COMMAND = 64;
export const MAX_BODY_BYTES = 256 * 1024;
export const MAX_COMMAND_BYTES = 4 * 1024 * 1024;
/** Longer than any worker plans ahead; a holder that is gone must not block its allocation for ever. */
export const MAX_LEASE_MS = 24 * 60 * 60 * 1000;
const MAX_ID_CHARACTERS = 200;
const MAX_SEALED_PER_COMMAND = 64;

const INSTANT = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** One event of a command as the append functions take it. `body` and `meta` are exact canonical text. */
export interface EncodedEvent {
  readonly eventId: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly role: 'input' | 'decision';
  readonly body: string;
  readonly meta: string;
}

/** Canonical texts and derived ids of a command's events. Throws InvalidCommand for what can never be stored. */
export function encodeEvents(command: Command): readonly EncodedEvent[] {
  refuseUnstorable(command);
  return command.events.map(({ event, meta }, index) => {
    const body = canonical(event.data, `body of event ${index}`);
    if (Buffer.byteLength(body) > MAX_BODY_BYTES) {
      throw new InvalidCommand(`body of event ${index} is over ${MAX_BODY_BYTES} bytes`);
    }
    return {
      eventId: eventIdOf(command.commandId, index),
      type: event.type,
      schemaVersion: event.version,
      role: event.role,
      body,
      meta: canonical(meta, `meta of event ${index}`),
    };
  });
}

/** A command in the two forms that the append functions take. */
export interface EncodedCommand {
  readonly command: Command;
  /** JSON text, an element of the argument of `append`. */
  readonly text: string;
  /** The arguments of `append_one`; null for a command that only the general function takes. */
  readonly single: readonly unknown[] | null;
}

/** Both forms of a command. Throws InvalidCommand for what can never be stored. */
export function encodeCommand(command: Command): EncodedCommand {
  const events = encodeEvents(command);
  const slot = slotOf(command.stream);
  const expected = expectedCode(command);
  const beside = besideOf(command);
  const text = JSON.stringify({
    id: command.commandId,
    digest: command.digest,
    stream: command.stream,
    slot,
    expected,
    occurred_at: command.occurredAt,
    ...(events.length > 0 && {
      event_ids: events.map((event) => event.eventId),
      types: events.map((event) => event.type),
      schema_versions: events.map((event) => event.schemaVersion),
      roles: events.map((event) => event.role),
      bodies: events.map((event) => event.body),
      metas: events.map((event) => event.meta),
    }),
    ...(command.checkpoint && { checkpoint: command.checkpoint }),
    ...(command.fence && { fence: command.fence }),
    ...(command.lease && { lease: command.lease }),
    ...(beside && { beside }),
  });
  if (Buffer.byteLength(text) > MAX_COMMAND_BYTES) {
    throw new InvalidCommand(`the command is over ${MAX_COMMAND_BYTES} bytes`);
  }

  const [event, ...more] = events;
  if (!event || more.length > 0 || command.checkpoint || command.fence || command.lease) {
    return { command, text, single: null };
  }
  const { commandId, digest, stream, occurredAt } = command;
  const { eventId, type, schemaVersion, role, body, meta } = event;
  const single = [
    commandId,
    digest,
    stream,
    slot,
    expected,
    occurredAt,
    eventId,
    type,
    schemaVersion,
    role,
    body,
    meta,
    beside && JSON.stringify(beside),
  ];
  return { command, text, single };
}

function expectedCode({ expected }: Command): number | null {
  if (expected === 'any') return null;
  if (expected === 'new') return -1;
  return expected.decisionVersion;
}

/** What a command carries beside its events, as the append function takes it; null = nothing. */
export function besideOf(
  command: Pick<Command, 'ringKeyId' | 'recordKey' | 'sealed' | 'allocation' | 'placement' | 'mark'>,
): object | null {
  const { ringKeyId, recordKey, sealed, allocation, placement, mark } = command;
  const beside = {
    ...(ringKeyId !== undefined && { ring_key_id: ringKeyId }),
    ...(recordKey && {
      record_key: {
        key_id: recordKey.keyId,
        wrapped_by: recordKey.wrappedBy,
        nonce: base64(recordKey.nonce),
        wrapped: base64(recordKey.wrapped),
      },
    }),
    ...(sealed &&
      sealed.length > 0 && {
        sealed: sealed.map((row) => ({
          digest: row.digest,
          key_id: row.keyId,
          kind: row.kind,
          nonce: base64(row.nonce),
          ciphertext: base64(row.ciphertext),
          expires_at: row.expiresAt,
        })),
      }),
    ...(allocation && {
      allocation: {
        status: allocation.status,
        open_question: allocation.openQuestion,
        question_expires_at: allocation.questionExpiresAt,
      },
    }),
    ...(placement && {
      placement: {
        outcome: placement.outcome,
        reason: placement.reason,
        lane: placement.lane,
        instance: placement.instance,
        open_intent: placement.openIntent,
        needs_worker: placement.needsWorker,
        wake_at: placement.wakeAt,
        retry_at: placement.retryAt,
        bills: placement.bills,
        alerts: placement.alerts,
      },
    }),
    ...(mark && { mark: { instance: mark.instance, observed_at: mark.observedAt } }),
  };
  return Object.keys(beside).length === 0 ? null : beside;
}

function refuseUnstorable(command: Command): void {
  const { commandId, digest, stream, expected, events, sealed = [], allocation, checkpoint } = command;
  const { placement, fence, lease } = command;
  refuseText('command id', commandId);
  refuseText('command digest', digest);
  refuseText('stream', stream);
  refuseInstant('occurredAt', command.occurredAt);
  if (typeof expected === 'object') refuseCount('expected decision version', expected.decisionVersion, 0);
  if (events.length > MAX_EVENTS_PER_COMMAND) {
    throw new InvalidCommand(`${events.length} events in a command, ${MAX_EVENTS_PER_COMMAND} are allowed`);
  }
  for (const { event } of events) {
    refuseText('event type', event.type);
    refuseCount('event version', event.version, 1);
    if (event.role !== 'input' && event.role !== 'decision')
      throw new InvalidCommand('event role is unknown');
  }

  if (sealed.length > MAX_SEALED_PER_COMMAND) {
    throw new InvalidCommand(
      `${sealed.length} sealed texts in a command, ${MAX_SEALED_PER_COMMAND} are allowed`,
    );
  }
  for (const row of sealed) {
    refuseText('sealed digest', row.digest);
    refuseText('sealed key id', row.keyId);
    refuseText('sealed kind', row.kind);
    refuseInstant('sealed expiresAt', row.expiresAt);
  }
  if (command.ringKeyId !== undefined) refuseText('ring key id', command.ringKeyId);
  if (command.recordKey) {
    refuseText('record key id', command.recordKey.keyId);
    refuseText('wrapping key id', command.recordKey.wrappedBy);
  }
  if (allocation) {
    refuseText('allocation status', allocation.status);
    refuseTextOrNull('open question', allocation.openQuestion);
    refuseInstant('questionExpiresAt', allocation.questionExpiresAt);
  }
  if (placement) {
    refuseText('outcome', placement.outcome);
    refuseTextOrNull('reason', placement.reason);
    refuseTextOrNull('lane', placement.lane);
    refuseTextOrNull('current instance', placement.instance);
    refuseTextOrNull('open intent', placement.openIntent);
    refuseInstant('wakeAt', placement.wakeAt);
    refuseInstant('retryAt', placement.retryAt);
    if (placement.alerts !== null) refuseCount('open alerts', placement.alerts, 0);
  }
  if (command.mark) {
    refuseText('instance', command.mark.instance);
    refuseInstant('observedAt', command.mark.observedAt);
  }
  if (checkpoint) {
    refuseText('consumer', checkpoint.consumer);
    refuseText('checkpoint hash', checkpoint.hash);
    refuseCount('partition', checkpoint.partition, 0);
    refuseCount('checkpoint from', checkpoint.from, 0);
    refuseCount('checkpoint to', checkpoint.to, checkpoint.from);
  }
  if (fence) {
    refuseText('lease', fence.lease);
    refuseCount('fence', fence.fence, 0);
  }
  if (lease) {
    refuseText('lease', lease.lease);
    refuseText('lease holder', lease.holder);
    refuseCount('fence before', lease.from, 0);
    refuseCount('lease forMs', lease.forMs, 1);
    if (lease.forMs > MAX_LEASE_MS) throw new InvalidCommand(`a lease over ${MAX_LEASE_MS} ms`);
  }
}

function refuseText(what: string, text: string): void {
  if (text.length === 0) throw new InvalidCommand(`${what} is empty`);
  if (text.length > MAX_ID_CHARACTERS)
    throw new InvalidCommand(`${what} is over ${MAX_ID_CHARACTERS} characters`);
  if (UNSTORABLE.test(text)) {
    throw new InvalidCommand(`${what} has a NUL character or half of a surrogate pair`);
  }
}

function refuseTextOrNull(what: string, text: string | null): void {
  if (text !== null) refuseText(what, text);
}

function refuseInstant(what: string, text: string | null): void {
  if (text === null) return;
  // The round trip refuses days that do not exist, which Postgres would refuse for the whole batch.
  const parsed = INSTANT.test(text) ? new Date(text) : null;
  if (parsed === null || Number.isNaN(parsed.getTime()) || parsed.toISOString() !== text) {
    throw new InvalidCommand(`${what} is no UTC time with milliseconds`);
  }
}

function refuseCount(what: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) {
    throw new InvalidCommand(`${what} is no whole number from ${least}`);
  }
}

function canonical(value: unknown, what: string): string {
  try {
    return canonicalJson(value);
  } catch (cause) {
    throw new InvalidCommand(`${what} has no exact JSON form`, { cause });
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
