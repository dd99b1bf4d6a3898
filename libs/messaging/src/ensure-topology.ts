import type { ConsumerInfo, JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { faultOf } from './bus-error.ts';
import type { DurableSettings, StreamSettings } from './topology.ts';

/** A stream of our name (or with our subjects) that is not ours to use; a person has to look. */
export class TopologyRefused extends Error {
  override readonly name = 'TopologyRefused';

  constructor(
    /** `subjects_taken`: another stream has our subjects. `incompatible`: one of our name cannot be made ours. */
    readonly reason: 'subjects_taken' | 'incompatible',
    readonly stream: string,
    readonly otherStreams: readonly string[],
  ) {
    super(`${reason}: stream ${stream}`);
  }
}

/**
 * Creates the stream, or brings an existing one to these settings where that loses nothing: subjects,
 * windows and ages are set, bytes only raised. Another retention or storage is refused. Idempotent, and safe
 * to race. Throws TopologyRefused, or the client's error when the broker does not answer.
 */
export async function ensureStream(manager: JetStreamManager, settings: StreamSettings): Promise<StreamInfo> {
  const found = await streamOrNull(manager, settings.name);
  if (found === null) return createStream(manager, settings);
  if (found.config.retention !== settings.retention || found.config.storage !== settings.storage) {
    throw new TopologyRefused('incompatible', settings.name, []);
  }
  const { name, retention: _retention, storage: _storage, ...wanted } = settings;
  // Lowering the limit below what is stored would drop the oldest messages.
  const maxBytes = found.config.max_bytes === -1 ? -1 : Math.max(found.config.max_bytes, wanted.max_bytes);
  const target = { ...wanted, max_bytes: maxBytes };
  if (isAlready(found, target)) return found;

  return manager.streams.update(name, target);
}

/** Null when there is no such stream. */
export async function streamOrNull(manager: JetStreamManager, name: string): Promise<StreamInfo | null> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (faultOf(error) === 'missing_stream' && !isSwitchedOff(error)) return null;
    throw error;
  }
}

/**
 * The durable as it is, or made anew. One with another filter, delivery budget or acknowledgement cannot be
 * changed in place and is replaced: what it had delivered comes again. Limits are updated.
 */
export async function ensureDurable(
  manager: JetStreamManager,
  stream: string,
  settings: DurableSettings,
): Promise<ConsumerInfo> {
  const found = await durableOrNull(manager, stream, settings.durable_name);
  if (found !== null && isSameKind(found, settings)) {
    const { ack_wait, max_ack_pending } = settings;
    if (found.config.ack_wait === ack_wait && found.config.max_ack_pending === max_ack_pending) return found;

    return manager.consumers.update(stream, settings.durable_name, {
      ...(ack_wait === undefined ? {} : { ack_wait }),
      ...(max_ack_pending === undefined ? {} : { max_ack_pending }),
    });
  }
  if (found !== null) await manager.consumers.delete(stream, settings.durable_name);
  try {
    return await manager.consumers.add(stream, settings);
  } catch (error) {
    if (faultOf(error) !== 'incompatible') throw error;
    // Another process made it a moment ago with another start: theirs serves as well, repeats are acked.
    return manager.consumers.info(stream, settings.durable_name);
  }
}

/** Null when the consumer, or its stream, does not exist. */
export async function durableOrNull(
  manager: JetStreamManager,
  stream: string,
  name: string,
): Promise<ConsumerInfo | null> {
  try {
    return await manager.consumers.info(stream, name);
  } catch (error) {
    const fault = faultOf(error);
    if (fault === 'missing_consumer' || (fault === 'missing_stream' && !isSwitchedOff(error))) return null;
    throw error;
  }
}

async function createStream(manager: JetStreamManager, settings: StreamSettings): Promise<StreamInfo> {
  try {
    return await manager.streams.add(settings);
  } catch (error) {
    const fault = faultOf(error);
    if (fault === 'subjects_taken') {
      throw new TopologyRefused(
        'subjects_taken',
        settings.name,
        await streamsWith(manager, settings.subjects),
      );
    }
    if (fault !== 'incompatible') throw error;
    // Lost a race against a process with other settings: what is there now is brought to ours.
    const made = await manager.streams.info(settings.name);
    if (made.config.retention === settings.retention && made.config.storage === settings.storage) return made;

    throw new TopologyRefused('incompatible', settings.name, []);
  }
}

async function streamsWith(
  manager: JetStreamManager,
  subjects: readonly string[],
): Promise<readonly string[]> {
  const names: string[] = [];
  for (const subject of subjects) {
    for await (const name of manager.streams.names(subject)) names.push(name);
  }
  return names;
}

function isAlready(
  found: StreamInfo,
  target: Omit<StreamSettings, 'name' | 'retention' | 'storage'>,
): boolean {
  const { config } = found;
  return (
    config.discard === target.discard &&
    config.max_bytes === target.max_bytes &&
    config.max_age === target.max_age &&
    config.duplicate_window === target.duplicate_window &&
    config.allow_direct === target.allow_direct &&
    config.subjects.length === target.subjects.length &&
    target.subjects.every((subject) => config.subjects.includes(subject))
  );
}

function isSameKind(found: ConsumerInfo, settings: DurableSettings): boolean {
  const { config } = found;
  return (
    config.filter_subject === settings.filter_subject &&
    config.ack_policy === settings.ack_policy &&
    config.max_deliver === settings.max_deliver &&
    config.deliver_subject === undefined
  );
}

/** The API itself has nobody listening: no stream is missing, all of JetStream is. */
function isSwitchedOff(error: unknown): boolean {
  return error instanceof Error && error.name === 'JetStreamNotEnabled';
}
