import { z } from 'zod';
import {
  DRIVER_LANES,
  type DriverName,
  type LaneDirectory,
  LaneName,
  laneDirectory,
  STAND_IN_LANES,
} from '#domain/provision/lane-directory';
import { BUILT_IN_LIMITS, type ConfiguredLimits, configuredLimits } from '#domain/provision/limits';

const drivers = Object.keys(DRIVER_LANES).filter((name): name is DriverName => name in DRIVER_LANES);

/** Of a lane's configuration what its plans are resolved by; what its driver needs is not read here. */
const DeclaredLanes = z
  .array(z.object({ lane: LaneName, driver: z.enum(drivers) }))
  .min(1)
  .refine((lanes) => new Set(lanes.map(({ lane }) => lane)).size === lanes.length);

/** Which lanes and limits launches are resolved by. The credentials in the same variable are passed over. */
export const planVariables = {
  SPILLWAY_LANES: z
    .string()
    .optional()
    .transform((text, context): LaneDirectory => {
      if (text === undefined) return laneDirectory(STAND_IN_LANES);
      const parsed = DeclaredLanes.safeParse(jsonOf(text));
      if (parsed.success) {
        return laneDirectory(parsed.data.map(({ lane, driver }) => ({ lane, ...DRIVER_LANES[driver] })));
      }
      context.addIssue({
        code: 'custom',
        message: `is no JSON list of lanes, each with a name of its own and a driver: ${drivers.join(', ')}`,
      });
      return z.NEVER;
    })
    .meta({
      description:
        'The lanes of the deployment, the same JSON list as for the provisioner: [{"lane": name in plans, ' +
        '"driver": "gcp", "kubernetes" or "runpod", ...}]. Absent = those of the stand-in cloud: gcp, kube, runpod.',
      orFile: true,
    }),
  SPILLWAY_LIMITS: z
    .string()
    .optional()
    .transform(
      (text): ConfiguredLimits =>
        text === undefined ? { limits: BUILT_IN_LIMITS, bad: [] } : configuredLimits(jsonOf(text)),
    )
    .describe(
      'Limits of a launch that names none, as a JSON object: {"queue_wait_s": 600, ...}. One that is not positive ' +
        'reads as the built-in default and is reported.',
    ),
} as const;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
