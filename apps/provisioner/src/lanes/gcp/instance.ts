import { z } from 'zod';
import type { InstanceState, LaneInstance } from '#domain/provision/lane';
import { createdAtOf } from '../created-at.ts';

/** An instance of Compute, as far as it is read. Empty members are left out there. */
const Instance = z.object({
  id: z.string().regex(/^\d+$/),
  name: z.string(),
  status: z.string(),
  zone: z.string(),
  labels: z.record(z.string(), z.string()).optional().nullable().catch(null),
  deletionProtection: z.boolean().optional().nullable().catch(null),
  creationTimestamp: z.string().nullable().catch(null),
  scheduling: z
    .object({ provisioningModel: z.string().optional(), preemptible: z.boolean().optional() })
    .nullable()
    .catch(null),
});
export type Instance = z.output<typeof Instance>;

/** One page of an aggregated listing. */
const Page = z.object({
  kind: z.literal('compute#instanceAggregatedList'),
  // Every zone is named, also an empty one: an answer without zones is no empty account.
  items: z.record(
    z.string(),
    z.object({
      instances: z.array(Instance).default([]),
      warning: z.object({ code: z.string() }).optional(),
    }),
  ),
  nextPageToken: z.string().optional(),
  unreachables: z.array(z.unknown()).default([]),
  warning: z.object({ code: z.string() }).optional(),
});

/** An instance, or null when it cannot be read. */
export function readInstance(json: unknown): Instance | null {
  return Instance.safeParse(json).data ?? null;
}

export interface InstancePage {
  readonly instances: readonly Instance[];
  readonly next: string | null;
}

const NOTHING_HERE = 'NO_RESULTS_ON_PAGE';

/** One page, or null when it cannot be read or admits that a zone is missing: a part is no listing (providers 1.6). */
export function readPage(json: unknown): InstancePage | null {
  const page = Page.safeParse(json).data;
  if (page === undefined || page.unreachables.length > 0) return null;
  const scopes = Object.values(page.items);
  const warnings = [page.warning, ...scopes.map(({ warning }) => warning)];
  if (warnings.some((warning) => warning !== undefined && warning.code !== NOTHING_HERE)) return null;
  return {
    instances: scopes.flatMap(({ instances }) => instances),
    next: page.nextPageToken === undefined || page.nextPageToken === '' ? null : page.nextPageToken,
  };
}

/** Which instance is meant: the number tells it from an earlier or later one of the same name. */
export interface InstanceRef {
  readonly zone: string;
  readonly name: string;
  readonly number: string;
}

/** The id of the lane: zone, name and number, since calls need the first two and identity is the third. */
export function idOf({ zone, name, number }: InstanceRef): string {
  return `${zone}/${name}/${number}`;
}

/** Null = no id that this lane has given. */
export function refOf(id: string): InstanceRef | null {
  const [, zone, name, number] = /^([a-z][a-z0-9-]*)\/([a-z][a-z0-9-]*)\/(\d+)$/.exec(id) ?? [];
  return zone === undefined || name === undefined || number === undefined ? null : { zone, name, number };
}

/** An instance in our words. */
export function instanceOf(instance: Instance): LaneInstance {
  const zone = lastPart(instance.zone);
  const { labels } = instance;
  const readable = labels !== null;
  return {
    id: idOf({ zone, name: instance.name, number: instance.id }),
    name: instance.name,
    marker: {
      deployment: labels?.['spillway-deployment'] ?? null,
      allocation: labels?.['spillway-allocation'] ?? null,
      intent: labels?.['spillway-intent'] ?? null,
    },
    keep: !readable || isProtected(instance) || isKept(labels?.['spillway-keep']),
    // Undecided states bill; a listing needs no more than that.
    state: stateOf(instance.status) ?? 'running',
    pool: poolOf(instance),
    zone,
    createdAt: createdAtOf(instance.creationTimestamp),
    costPerHourUsd: null,
  };
}

const STATES: ReadonlyMap<string, InstanceState> = new Map([
  ['PENDING', 'queued'],
  ['PROVISIONING', 'provisioning'],
  ['STAGING', 'provisioning'],
  ['RUNNING', 'running'],
  ['REPAIRING', 'running'],
  ['TERMINATED', 'terminated'],
  ['SUSPENDED', 'terminated'],
]);

/** Null = on its way from one state to another, or unknown: the last known state is kept until it is final. */
export function stateOf(status: string): InstanceState | null {
  return STATES.get(status) ?? null;
}

const POOLS: ReadonlyMap<string, string> = new Map([
  ['STANDARD', 'on-demand'],
  ['SPOT', 'preemptible'],
  ['FLEX_START', 'flex-start'],
]);

function poolOf({ scheduling }: Instance): string | null {
  if (scheduling === null) return null;
  if (scheduling.preemptible === true) return 'preemptible';
  return POOLS.get(scheduling.provisioningModel ?? '') ?? null;
}

function isProtected({ deletionProtection }: Instance): boolean {
  return deletionProtection !== undefined && deletionProtection !== false;
}

const NOT_KEPT: ReadonlySet<string> = new Set(['0', 'false', 'no']);

/** A label without a value is a mark as well. */
function isKept(label: string | undefined): boolean {
  return label !== undefined && !NOT_KEPT.has(label);
}

function lastPart(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}
