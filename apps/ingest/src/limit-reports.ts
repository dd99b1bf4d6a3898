import { type ConfiguredLimits, LIMITS } from '#domain/provision/limits';
import type { Logger } from '#platform/logger';
import type { Metrics } from '#platform/metrics';

const NAMES: readonly ConfiguredLimits['bad'][number][] = ['limits', ...LIMITS.map(({ sentAs }) => sentAs)];

/** Tells of configured limits that read as the built-in default (failover 2.4): by name, never by value. */
export function reportBadLimits(logger: Logger, metrics: Metrics, bad: ConfiguredLimits['bad']): void {
  const invalid = metrics.gauge(
    'spillway_configuration_invalid',
    '1 for each limit of the configuration that is none and reads as the built-in default.',
    { limit: NAMES },
  );
  for (const limit of NAMES) invalid.set({ limit }, bad.includes(limit) ? 1 : 0);
  for (const limit of bad) logger.warn('configuration_invalid', { check: limit });
}
