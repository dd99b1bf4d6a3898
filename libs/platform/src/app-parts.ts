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
  /** What a Sealer needs beside its store. */
  readonly sealing: Pick<SealerOptions, 'wrapKeys' | 'onKeyMissing'>;
  /** All keys that this app has, for the log to check. */
  readonly keys: { readonly ring: KeyRing['newestFirst']; readonly wrapping: SealerOptions['wrapKeys'] };
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
  const onKeyMissing = (keyId: string) => logger.error('wrap_key_missing', { keyId });
  return {
    logger,
    metrics,
    ring,
    sealing: { wrapKeys, onKeyMissing },
    keys: { ring: ring.newestFirst, wrapping: wrapKeys },
  };
}
