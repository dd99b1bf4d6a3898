import { z } from 'zod';
import { noticeVariables } from '#platform/notice-variables';
import {
  busVariables,
  deploymentVariables,
  httpVariables,
  intakeVariables,
  keyVariables,
  logVariables,
  ruleVariables,
} from '#platform/variables';

/** What `consent` reads from its environment; each variable is documented where it is declared. */
export const ConsentConfig = z.object({
  ...deploymentVariables,
  ...logVariables,
  ...busVariables,
  ...keyVariables,
  ...httpVariables(8803),
  SPILLWAY_TOKEN_LIFE_S: ruleVariables.SPILLWAY_TOKEN_LIFE_S,
  SPILLWAY_CALLS_PER_SECOND: intakeVariables.SPILLWAY_CALLS_PER_SECOND,
  ...noticeVariables,
});
