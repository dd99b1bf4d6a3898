import { z } from 'zod';
import {
  accessVariables,
  deploymentVariables,
  httpVariables,
  intakeVariables,
  keyVariables,
  logVariables,
} from '#platform/variables';

/** What the reading server reads from its environment; each variable is documented where it is declared. */
export const AuditConfig = z.object({
  ...deploymentVariables,
  SPILLWAY_DATABASE_URL: logVariables.SPILLWAY_DATABASE_URL,
  ...keyVariables,
  ...httpVariables(8805),
  SPILLWAY_CALLS_PER_SECOND: intakeVariables.SPILLWAY_CALLS_PER_SECOND,
  ...accessVariables,
});
