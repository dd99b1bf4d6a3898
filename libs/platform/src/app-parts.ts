import type { z } from 'zod';
import { type KeyRing, keyRing } from '#domain/key-ring';
import { createLogger, type Logger } from './logger.ts';
import { Metrics } from './metrics.ts';
import type { SealerOptions } from './sealer.ts';
import type { deploymentVariables, keyVariables } from './variables.ts';

type Variables = typeof deploymentVariables & typeof keyVariables;

/** What an app makes of its configuration before it reaches for anything outside its process. */
export interface AppParts {
  readonly logger: Logger;
  /** The process's own figures are among them. */
  readonly metrics: Metrics;
  readonly ring: KeyRing;
  readonly wrapKeys: SealerOptions['wrapKeys'];
  /** Ids of all keys that this app has, for the log to check. */
  readonly keyIds: { readonly ring: readonly string[]; readonly wrapping: readonly string[] };
}

/** Throws on a key ring that is none (fallback 5). */
export function appParts(app: string, config: z.output<z.ZodObject<Variables>>): AppParts {
  const logger = createLogger({
    app,
    deployment: config.SPILLWAY_DEPLOYMENT,
    level: config.SPILLWAY_LOG_LEVEL,
  });
  const metrics = new Metrics(app);
  metrics.includeProcess();
  const ring = keyRing(config.SPILLWAY_KEY_RING.reveal());
  const wrapKeys = config.SPILLWAY_WRAP_KEYS.reveal();
  const keyIds = { ring: ring.newestFirst.map(({ id }) => id), wrapping: wrapKeys.map(({ id }) => id) };
  return { logger, metrics, ring, wrapKeys, keyIds };
}
