import { z } from 'zod';
import {
  busVariables,
  deploymentVariables,
  httpVariables,
  keyVariables,
  logVariables,
  ruleVariables,
  wholeNumber,
} from '#platform/variables';
import { laneVariables } from './lanes/configured-lanes.ts';
import { KILL_POINTS } from './parts.ts';

const SECONDS_MAX = 86_400;

/** What `provisioner` reads from its environment; each variable is documented where it is declared. */
export const ProvisionerConfig = z.object({
  ...deploymentVariables,
  ...logVariables,
  ...busVariables,
  ...keyVariables,
  ...httpVariables(8804),
  ...ruleVariables,
  ...laneVariables,
  SPILLWAY_OBSERVE_ONLY: z
    .enum(['yes', 'no'])
    .default('no')
    .describe(
      'yes = decisions are recorded and nothing irreversible is sent: no create, cancel, terminate or dispatch.',
    ),
  SPILLWAY_TERMINAL_CREATES_PER_HOUR: wholeNumber(1, 100_000)
    .optional()
    .describe('Terminal creates within an hour, repeats under one intent counted once; absent = no limit.'),
  SPILLWAY_TERMINAL_BILLING_MAX: wholeNumber(1, 100_000)
    .optional()
    .describe('Terminal instances that may bill at once, those kept for a person too; absent = no limit.'),
  SPILLWAY_RUNS_AT_ONCE: wholeNumber(1, 10_000)
    .default(256)
    .describe('Allocations worked on at once; those that wait for a machine count too.'),
  SPILLWAY_PASS_EVERY_S: wholeNumber(1, SECONDS_MAX)
    .default(15)
    .describe('How often lanes are listed and everything with work is walked, in seconds.'),
  SPILLWAY_RETRY_EVERY_S: wholeNumber(1, SECONDS_MAX)
    .default(60)
    .describe('How often blocked allocations are looked at for a capacity retry, in seconds.'),
  SPILLWAY_INGEST_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Where polls of placed instances are handed in: the URL of ingest. Absent = nothing is polled.',
    ),
  SPILLWAY_WATCH_EVERY_S: wholeNumber(1, SECONDS_MAX)
    .default(30)
    .describe('How often placed instances are polled, in seconds.'),
  SPILLWAY_KILL_AT: z
    .enum(KILL_POINTS)
    .optional()
    .describe('For tests: the process sends itself a signal whenever it reaches this point.'),
  SPILLWAY_KILL_SIGNAL: z
    .enum(['SIGKILL', 'SIGSTOP'])
    .default('SIGKILL')
    .describe(
      'For tests: SIGKILL ends the process at the point, SIGSTOP lets it stand there until it is continued.',
    ),
});
export type ProvisionerConfig = z.output<typeof ProvisionerConfig>;
