import { z } from 'zod';
import { LaneKind } from '#events/plan';

export const LaneName = z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/);

/** What a lane's driver declares of itself, as far as a plan is resolved by it (failover 1). */
export const DeclaredLane = z.object({
  lane: LaneName,
  kind: LaneKind,
  /** Pools whose create succeeds before capacity is found. */
  queueingPools: z.array(z.string()).readonly(),
});
export type DeclaredLane = Readonly<z.output<typeof DeclaredLane>>;

/** The lanes of a deployment by their id. */
export type LaneDirectory = ReadonlyMap<string, DeclaredLane>;

/** What each driver declares of its lanes, whatever they are called (failover 1). */
export const DRIVER_LANES = {
  gcp: { kind: 'primary', queueingPools: ['flex-start'] },
  kubernetes: { kind: 'batch', queueingPools: [] },
  runpod: { kind: 'terminal', queueingPools: [] },
} as const satisfies Readonly<Record<string, Omit<DeclaredLane, 'lane'>>>;
export type DriverName = keyof typeof DRIVER_LANES;

/** The lanes of the stand-in cloud: what a deployment has that configures none. */
export const STAND_IN_LANES: readonly DeclaredLane[] = [
  { lane: 'gcp', ...DRIVER_LANES.gcp },
  { lane: 'kube', ...DRIVER_LANES.kubernetes },
  { lane: 'runpod', ...DRIVER_LANES.runpod },
];

/** The directory of these lanes. Throws when two have the same id. */
export function laneDirectory(lanes: readonly DeclaredLane[]): LaneDirectory {
  const byId = new Map(lanes.map((lane) => [lane.lane, lane]));
  if (byId.size !== lanes.length) throw new Error('two lanes have the same id');
  return byId;
}
