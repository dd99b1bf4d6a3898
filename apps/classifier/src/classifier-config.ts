import { z } from 'zod';
import {
  busVariables,
  deploymentVariables,
  httpVariables,
  keyVariables,
  logVariables,
  ruleVariables,
} from '#platform/variables';

/** What `classifier` reads from its environment; each variable is documented where it is declared. */
export const ClassifierConfig = z.object({
  ...deploymentVariables,
  ...logVariables,
  ...busVariables,
  ...keyVariables,
  ...httpVariables(8802),
  ...ruleVariables,
});
