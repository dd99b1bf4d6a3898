import type { z } from 'zod';
import { shortRefOf } from '#domain/provision/marker';
import type { EventType, KnownEvent } from '#events/catalogue';
import { readEvent } from '#events/upcast';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import type { InstanceOrder } from '../cloud/admin-api.ts';
import type { LedgerInstance } from '../cloud/ledger-report.ts';
import type { CloudCall, CloudLane } from '../cloud/scripts.ts';
import { at } from '../conformance/fallback-expect.ts';
import type { Body } from './calls.ts';
import { launch, outcomeIs, resultWhere } from './failover-calls.ts';
import { streamOfName } from './provisioner-facts.ts';
import type { System } from './running-apps.ts';

const PASS_BOUND_MS = 60_000;
const LOOK_MS = 100;

type Watched = Pick<System, 'log' | 'ring'>;

/** The story of an allocation, once it satisfies a condition. */
export async function storyWhere(
  system: Watched,
  name: string,
  what: string,
  holds: (story: readonly KnownEvent[]) => boolean,
): Promise<readonly KnownEvent[]> {
  let story: readonly KnownEvent[] = [];
  const look = async () => {
    story = await storyOf(system, name);
    return holds(story);
  };
  await waitUntil(`${name}: ${what}`, PASS_BOUND_MS, look, LOOK_MS).catch((error: unknown) => {
    throw new Error(`${name}: ${story.map(({ type }) => type).join(', ')}`, { cause: error });
  });
  return story;
}

/** Everything that the log holds of one allocation. */
export async function storyOf({ log, ring }: Watched, name: string): Promise<readonly KnownEvent[]> {
  const rows = await log.readStream(streamOfName(ring, name), 0, 1_000);
  return rows.map(readEvent);
}

/** The events of one type in a story. */
export function only<Type extends EventType>(
  story: readonly KnownEvent[],
  type: Type,
): readonly Extract<KnownEvent, { readonly type: Type }>[] {
  return story.filter((event): event is Extract<KnownEvent, { readonly type: Type }> => event.type === type);
}

/** The kinds of alert that were raised, in their order. */
export function alertsIn(story: readonly KnownEvent[]): readonly string[] {
  return only(story, 'AlertRaised').map(({ data }) => data.alert);
}

/** Every machine that was ever made for an allocation, by the marker that it carries. */
export async function machinesOf(
  { cloud, ring }: Pick<System, 'cloud' | 'ring'>,
  name: string,
  lane?: CloudLane,
): Promise<readonly LedgerInstance[]> {
  const allocation = shortRefOf(streamOfName(ring, name));
  const { instances } = await cloud.client.ledger();
  return instances.filter((one) => {
    return one.mark.allocation === allocation && (lane === undefined || one.lane === lane);
  });
}

/** How many workloads really began on the machines of an allocation. */
export async function startsOf(system: Pick<System, 'cloud' | 'ring'>, name: string): Promise<number> {
  const ids = new Set((await machinesOf(system, name)).map(({ id }) => id));
  const { starts } = await system.cloud.client.ledger();
  return starts.filter(({ instance }) => ids.has(instance)).length;
}

/** How many calls of one kind the cloud got so far. */
export async function callsOf(
  { cloud }: Pick<System, 'cloud'>,
  lane: CloudLane,
  call: CloudCall,
): Promise<number> {
  return (await cloud.client.ledger()).calls[`${lane} ${call}`] ?? 0;
}

/** Waits until passes have gone by that began after this call: what they did not do they will not do. */
export async function passesGoBy(system: Pick<System, 'cloud'>, passes = 2): Promise<void> {
  const before = await callsOf(system, 'runpod', 'list');
  await waitUntil(
    `${passes} passes go by`,
    PASS_BOUND_MS,
    async () => (await callsOf(system, 'runpod', 'list')) > before + passes,
    LOOK_MS,
  );
}

export interface Placed {
  readonly location: string;
  readonly instance: string;
}

/** A launch whose first rung gives an instance. */
export async function placed(
  system: Pick<System, 'calls' | 'cloud'>,
  name: string,
  change: Body = {},
): Promise<Placed> {
  const location = await launch(system, name, change);
  const result = await resultWhere(system, location, `${name} is placed`, outcomeIs('placed_primary'));
  return { location, instance: String(at(result, 'instance.id')) };
}

/** Something happens to a machine in the cloud, told by the id that the log has of it. */
export function happens(
  { cloud }: Pick<System, 'cloud'>,
  instance: string,
  order: z.input<typeof InstanceOrder>,
): Promise<void> {
  return cloud.client.change(cloudIdOf(instance), order);
}

/** The gcp driver's ids name zone and machine beside the number that the cloud goes by. */
export function cloudIdOf(instance: string): string {
  return instance.split('/').at(-1) ?? instance;
}

/** A time so many seconds from now, as an observation carries it. */
export function secondsAhead(seconds: number): string {
  return new Date(Date.now() + seconds * 1_000).toISOString();
}
