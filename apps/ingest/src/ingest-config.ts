import { z } from 'zod';
import { planVariables } from '#platform/lane-variables';
import {
  busVariables,
  deploymentVariables,
  httpVariables,
  intakeVariables,
  keyVariables,
  logVariables,
  ruleVariables,
} from '#platform/variables';

/** What `ingest` reads from its environment; each variable is documented where it is declared. */
export const IngestConfig = z.object({
  ...deploymentVariables,
  ...logVariables,
  ...busVariables,
  ...keyVariables,
  ...httpVariables(8801),
  ...ruleVariables,
  ...intakeVariables,
  ...planVariables,
});
export type IngestConfig = z.output<typeof IngestConfig>;
