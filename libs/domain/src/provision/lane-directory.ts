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

const gcpPools = ['flex-start'];
const kind = LaneKind.extract(['primary', 'batch']);

/**
 * Of a lane's configuration what its driver declares by it; the rest is the driver's alone, and is not read here.
 * A spec compares this with what the drivers say of themselves.
 */
export const ConfiguredLane = z
  .discriminatedUnion('driver', [
    z.object({ lane: LaneName, driver: z.literal('gcp') }),
    z.object({ lane: LaneName, driver: z.literal('runpod') }),
    z.object({
      lane: LaneName,
      driver: z.literal('kubernetes'),
      kind,
      pools: z.record(z.string(), z.unknown()).default({}),
    }),
  ])
  .transform((config): DeclaredLane => {
    const { lane } = config;
    switch (config.driver) {
      case 'gcp':
        return { lane, kind: 'primary', queueingPools: gcpPools };
      case 'runpod':
        return { lane, kind: 'terminal', queueingPools: [] };
      case 'kubernetes':
        // Every pod waits here first, whatever its pool.
        return { lane, kind: config.kind, queueingPools: Object.keys(config.pools) };
    }
  });

/** The lanes of the stand-in cloud: what a deployment has that configures none. */
export const STAND_IN_LANES: readonly DeclaredLane[] = [
  { lane: 'gcp', kind: 'primary', queueingPools: gcpPools },
  { lane: 'runpod', kind: 'terminal', queueingPools: [] },
  { lane: 'kubernetes', kind: 'batch', queueingPools: ['batch'] },
];

/** The directory of these lanes. Throws when two have the same id. */
export function laneDirectory(lanes: readonly DeclaredLane[]): LaneDirectory {
  const byId = new Map(lanes.map((lane) => [lane.lane, lane]));
  if (byId.size !== lanes.length) throw new Error('two lanes have the same id');
  return byId;
}
