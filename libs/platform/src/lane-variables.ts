import { z } from 'zod';
import {
  ConfiguredLane,
  type LaneDirectory,
  laneDirectory,
  STAND_IN_LANES,
} from '#domain/provision/lane-directory';
import { BUILT_IN_LIMITS, type ConfiguredLimits, configuredLimits } from '#domain/provision/limits';

const Lanes = z
  .array(ConfiguredLane)
  .min(1)
  .refine((lanes) => new Set(lanes.map(({ lane }) => lane)).size === lanes.length);

/** Which lanes and limits launches are resolved by. The credentials in the same variable are passed over. */
export const planVariables = {
  SPILLWAY_LANES: z
    .string()
    .optional()
    .transform((text, context): LaneDirectory => {
      if (text === undefined) return laneDirectory(STAND_IN_LANES);
      const parsed = Lanes.safeParse(jsonOf(text));
      if (parsed.success) return laneDirectory(parsed.data);
      context.addIssue({
        code: 'custom',
        message: 'is no JSON list of lanes, each with a name of its own and a driver that there is',
      });
      return z.NEVER;
    })
    .meta({
      description:
        'The lanes of the deployment, the same JSON list as for the provisioner: [{"lane": name in plans, ' +
        '"driver": "gcp", "kubernetes" or "runpod", ...}]. Absent = those of the stand-in cloud.',
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
