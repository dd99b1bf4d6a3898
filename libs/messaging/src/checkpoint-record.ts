import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { BusDown } from './bus-error.ts';
import type { Bus } from './connect-bus.ts';
import { ensureStream } from './ensure-topology.ts';
import type { StreamSettings, Topology } from './topology.ts';

/** Where signed checkpoints are published, and kept by the broker: outside of the database (design 5). */
export function checkpointSubject(topology: Pick<Topology, 'prefix'>): string {
  return `${topology.prefix}.checkpoint`;
}

/** About 18,000 checkpoints: at one every ten minutes those of four months. The oldest ones go. */
const MAX_BYTES = 8 * 1024 ** 2;

function checkpointStreamSettings(topology: Topology): StreamSettings {
  return {
    name: `${topology.prefix.toUpperCase()}_CP_${topology.deployment}`,
    subjects: [checkpointSubject(topology)],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_bytes: MAX_BYTES,
    max_age: 0,
    duplicate_window: nanos(60_000),
    allow_direct: true,
  };
}

/**
 * Publishes a checkpoint and waits until the broker has stored it, connecting included at most `boundMs`. The same
 * id again within a minute is stored once. Rejects with BusDown, or with what the broker says.
 */
export async function publishCheckpoint(
  bus: Bus,
  topology: Topology,
  checkpoint: { readonly id: string; readonly text: string },
  boundMs = 5_000,
): Promise<void> {
  await connected(bus, boundMs);
  const manager = bus.manager();
  await ensureStream(manager, checkpointStreamSettings(topology));
  await manager.jetstream().publish(checkpointSubject(topology), checkpoint.text, {
    msgID: checkpoint.id,
    timeout: boundMs,
  });
}

function connected(bus: Bus, boundMs: number): Promise<void> {
  if (bus.connected) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const end = bus.onState((isUp) => {
      if (!isUp) return;
      clearTimeout(timer);
      end();
      resolve();
    });
    const timer = setTimeout(() => {
      end();
      reject(new BusDown('no connection to NATS in time'));
    }, boundMs);
  });
}
