import { z } from 'zod';
import type { CloudInstance, CloudState } from './instance.ts';

/** The body of an insert, as far as the stand-in understands it. */
export const Insert = z.object({
  name: z.string().regex(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/),
  machineType: z.string().min(1),
  labels: z.record(z.string(), z.string().max(63)).default({}),
  metadata: z
    .object({ items: z.array(z.object({ key: z.string(), value: z.string() })).default([]) })
    .optional(),
  scheduling: z
    .looseObject({ provisioningModel: z.enum(['STANDARD', 'SPOT', 'FLEX_START']).default('STANDARD') })
    .default({ provisioningModel: 'STANDARD' }),
  disks: z.array(z.unknown()).min(1),
  networkInterfaces: z.array(z.unknown()).min(1),
});
export type Insert = z.output<typeof Insert>;

const STATUS: Readonly<Record<CloudState, string>> = {
  queued: 'PENDING',
  provisioning: 'STAGING',
  running: 'RUNNING',
  stopped: 'TERMINATED',
  error: 'TERMINATED',
  gone: 'TERMINATED',
};

/** An instance as Compute shows it. What is empty is left out, as there. */
export function instanceBody(instance: CloudInstance): Readonly<Record<string, unknown>> {
  const { provisioningModel = instance.pool ?? 'STANDARD', ...scheduling } =
    Insert.partial().safeParse(instance.request).data?.scheduling ?? {};
  return {
    kind: 'compute#instance',
    id: instance.id,
    name: instance.name,
    status: STATUS[instance.state],
    creationTimestamp: new Date(instance.createdAtMs).toISOString().replace('Z', '-00:00'),
    zone: `https://www.googleapis.com/compute/v1/projects/p/zones/${instance.zone}`,
    scheduling: { ...scheduling, provisioningModel },
    ...(Object.keys(instance.labels).length === 0 ? {} : { labels: instance.labels }),
    ...(instance.locked ? { deletionProtection: true } : {}),
    ...(instance.message === null ? {} : { statusMessage: instance.message }),
  };
}

/** What the guest has written about itself, or null when it has written nothing. */
export function guestAttributes(
  instance: CloudInstance,
  nowMs: number,
): Readonly<Record<string, unknown>> | null {
  const { guest, logAgeS } = instance;
  if (guest === null) return null;
  const items = [{ key: 'phase', value: guest.phase }];
  if (guest.workloadStarted !== null) {
    items.push({ key: 'workload-started', value: String(guest.workloadStarted) });
  }
  if (logAgeS !== null) items.push({ key: 'log-at', value: new Date(nowMs - logAgeS * 1_000).toISOString() });
  return { queryValue: { items: items.map((item) => ({ namespace: 'spillway', ...item })) } };
}
