import { z } from 'zod';
import { GUEST_PHASES, PROVIDER_STATES } from '#events/watch.events';

/** Where a worker can be cut off (FORMAT.md). The names are those of the provisioning protocol (failover 9.4). */
export const POINTS = [
  'decided',
  'queue_cancelled',
  'rung_counted',
  'intent_recorded',
  'create_in_flight',
  'created_unrecorded',
  'created_recorded',
  'bootstrapping',
  'ready',
  'dispatch_in_flight',
  'dispatched_unrecorded',
  'completed',
  'reap_in_flight',
] as const;
export type Point = (typeof POINTS)[number];

export const PLAIN_FACTS = [
  'failover_decided',
  'prompt_issued',
  'intent_recorded',
  'instance_created',
  'instance_adopted',
  'residue_reaped',
  'workload_dispatched',
  'failover_completed',
  'rung_skipped',
  'boot_death_recorded',
  'boot_streak_reset',
  'wedge_alarm_recorded',
  'blocked',
  'foreign_instance_seen',
  'alert_raised',
] as const;
export type PlainFact = (typeof PLAIN_FACTS)[number];

const BLOCKED = [
  'no_compute_available',
  'workload_failure',
  'setup_failure',
  'terminal_residue_unresolved',
  'terminal_workload_start_failed',
  'terminal_request_rejected',
  'terminal_balance_exhausted',
  'instance_deleted_externally',
  'instance_lost_after_start',
  'relaunch_spec_missing',
  'creates_per_day_reached',
  'failover_declined',
] as const;

const MOVES = [
  'gcp_queue_vanish_failover_runpod',
  'gcp_queue_timeout_failover_runpod',
  'gcp_boot_loop_failover_runpod',
  'gcp_infra_wedge_failover_runpod',
  'gcp_workload_failover_runpod',
  'gcp_workload_failover_runpod_async',
  'auto_fallback_runpod',
] as const;

const Text = z.string().min(1);
const count = z.int().min(1);
const bound = z.number().positive();

const Workload = z.union([
  z.strictObject({ command: Text }),
  z.strictObject({ arguments: z.array(Text).min(1) }),
]);

const ScenarioPlan = z.strictObject({
  rungs: z
    .array(
      z.strictObject({
        id: Text,
        lane: z.enum(['gcp', 'slurm']),
        pool: z.enum(['flex-start', 'on-demand', 'preemptible', 'batch']),
      }),
    )
    .min(1)
    .max(32)
    .optional(),
  terminal: z
    .strictObject({ lane: z.literal('runpod') })
    .nullable()
    .optional(),
  workload: Workload.nullable().optional(),
  budget_s: bound.nullable().optional(),
  failover: z.enum(['standing', 'ask', 'never']).optional(),
  limits: z
    .strictObject({
      creates_per_day: count.optional(),
      boot_deaths: count.optional(),
      max_reaps: count.optional(),
      capacity_retries_per_day: count.optional(),
      wedge_observations: count.optional(),
      queue_wait_s: bound.optional(),
      vanish_max_age_s: bound.optional(),
      boot_death_max_age_s: bound.optional(),
      worker_lease_s: bound.optional(),
      capacity_retry_backoff_s: bound.optional(),
      wedge_stale_s: bound.optional(),
      wedge_span_s: bound.optional(),
      wedge_log_age_s: bound.optional(),
      wedge_budget_factor: bound.optional(),
      no_port_s: bound.optional(),
    })
    .optional(),
});
export type ScenarioPlan = z.output<typeof ScenarioPlan>;

const ScenarioPod = z.strictObject({
  id: Text,
  name: Text,
  state: z.enum(['RUNNING', 'STOPPED', 'EXITED', 'ERROR']),
  marker: z.enum(['none', 'this_intent', 'other_name', 'other_intent', 'other_deployment']),
  workload: z.enum(['none', 'running', 'unknown', 'done', 'failed']),
  /** Seconds after the start; negative = before it. */
  created_at: z.number(),
  keep: z.boolean(),
});
export type ScenarioPod = z.output<typeof ScenarioPod>;

const ID = '[A-Z][0-9]+';
const answers = (pattern: string) =>
  z
    .array(z.string().regex(new RegExp(`^(${pattern})$`), 'no answer of this lane'))
    .min(1)
    .optional();

const ScenarioWorld = z.strictObject({
  gcp: z
    .strictObject({
      create: answers(`ok:${ID}|stockout|quota|probe_error|rejected|workload_error`),
      cancel: z.enum(['ok', 'fails', 'now_running']).optional(),
    })
    .optional(),
  slurm: z.strictObject({ create: answers(`ok:${ID}|stockout|quota|probe_error|rejected`) }).optional(),
  runpod: z
    .strictObject({
      create: answers(
        `(ok|http_500_created|timeout_created):${ID}|capacity|quota|timeout_nothing|rejected|balance|rate_limited|unavailable`,
      ),
      bootstrap: z
        .array(z.enum(['ok', 'fails']))
        .min(1)
        .optional(),
      dispatch: z
        .array(z.enum(['ok', 'fails', 'no_ack_started', 'no_ack_not_started']))
        .min(1)
        .optional(),
      list: z
        .string()
        .regex(/^(ok|fails|lags:[0-9]+)$/, 'none of ok, fails, lags:N')
        .optional(),
      terminate: z
        .array(z.enum(['ok', 'fails', 'gone']))
        .min(1)
        .optional(),
      probe: z.enum(['ok', 'fails']).optional(),
      pods: z.array(ScenarioPod).optional(),
    })
    .optional(),
});
export type ScenarioWorld = z.output<typeof ScenarioWorld>;

const ScenarioObservation = z.strictObject({
  instance: Text,
  lane: z.enum(['gcp', 'slurm', 'runpod']).optional(),
  provider: z.enum(PROVIDER_STATES),
  observed_at: z.number().min(0).optional(),
  guest: z.strictObject({ phase: z.enum(GUEST_PHASES), workload_started: z.boolean().nullable() }).optional(),
  alarm: z.enum(['none', 'transport', 'control_plane']).optional(),
  log_age_s: z.number().min(0).nullable().optional(),
  create_operation: z.enum(['done', 'running', 'failed', 'unknown']).optional(),
  create_error: z.strictObject({ code: Text, message: z.string().optional() }).optional(),
  delete_operation: z.enum(['none', 'present', 'unknown']).optional(),
  port: z.boolean().nullable().optional(),
});
export type ScenarioObservation = z.output<typeof ScenarioObservation>;

const Nothing = z.strictObject({});
const verbs = {
  launch: Nothing.optional(),
  placed: z.strictObject({ rung: Text, instance: Text, create_operation: z.literal('done') }).optional(),
  observe: ScenarioObservation.optional(),
  consent: z.strictObject({ accept: z.boolean() }).optional(),
  crash_next: z.strictObject({ at: z.enum(POINTS) }).optional(),
  restart: Nothing.optional(),
  reconcile: Nothing.optional(),
  retry_pass: Nothing.optional(),
  pods: z.array(ScenarioPod).optional(),
  world: ScenarioWorld.optional(),
};

const onlyOneVerb = (step: object) => Object.keys(step).filter((name) => name !== 'at').length === 1;
const oneVerb = { error: 'a step has exactly one verb' };

/** What happens at one moment: exactly one of the verbs is given. */
const Inner = z.strictObject(verbs).refine(onlyOneVerb, oneVerb);
export type Inner = z.output<typeof Inner>;

const Step = z
  .strictObject({ at: z.number().min(0), ...verbs, together: z.array(Inner).min(2).optional() })
  .refine(onlyOneVerb, oneVerb);
export type Step = z.output<typeof Step>;

const unique = { error: 'an entry stands twice' };
const ids = z.array(Text).refine(isUnique, unique).optional();
const facts = z.array(z.enum(PLAIN_FACTS)).refine(isUnique, unique).optional();
const tally = z.int().min(0).optional();

const Expectation = z
  .strictObject({
    outcome: z
      .enum([
        'placed_primary',
        'running_on_terminal',
        'awaiting_consent',
        'blocked',
        'waiting',
        'done',
        'unchanged',
      ])
      .optional(),
    reason: z.enum([...MOVES, ...BLOCKED]).optional(),
    failure_class: z.enum(['infra', 'code']).nullable().optional(),
    redrivable: z.boolean().optional(),
    terminal_creates: tally,
    terminal_dispatches: tally,
    live_own_pods: tally,
    untouched: ids,
    terminated: ids,
    adopted: ids,
    cancelled: ids,
    creates_today: tally,
    prompts: tally,
    evidence: z
      .strictObject({
        arm: z.enum(['seen', 'never_seen', 'transport', 'reachable', 'watchdog']).optional(),
        rung: Text.optional(),
        streak: count.optional(),
      })
      .refine(isNotEmpty, { error: 'nothing is expected' })
      .optional(),
    events_include: facts,
    events_exclude: facts,
  })
  .refine(isNotEmpty, { error: 'nothing is expected' })
  .refine(({ outcome, reason }) => outcome !== 'blocked' || reason === undefined || isBlockedReason(reason), {
    path: ['reason'],
    error: 'no reason of a block',
  })
  .refine(
    ({ redrivable, reason }) =>
      redrivable !== true || reason === undefined || reason === 'no_compute_available',
    { path: ['reason'], error: 'only no_compute_available is re-driven' },
  );
export type Expectation = z.output<typeof Expectation>;

/** One scenario (FORMAT.md): a plan, a scripted world, steps on a virtual clock, and what must be true at the end. */
const Scenario = z.strictObject({
  id: z.string().regex(/^[A-Z]{3}-[0-9]{2}$/, 'not of the form ABC-01'),
  group: z.string().regex(/^[a-z_]+$/, 'not of the form queue_vanish'),
  title: Text,
  t0: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/, 'not of the form 2026-01-05T00:00:00Z')
    .refine((text) => Number.isFinite(Date.parse(text)), { error: 'there is no such time' })
    .optional(),
  plan: ScenarioPlan.optional(),
  world: ScenarioWorld.optional(),
  steps: z.array(Step).min(1),
  expect: Expectation,
  note: z.string().optional(),
  /** Two experts could differ: it is reported, and fails nothing. */
  ambiguous: z.boolean().optional(),
});
export type Scenario = z.output<typeof Scenario>;

/** A file that is no list of scenarios. The text names the scenario and the member. */
export class BadScenario extends Error {
  override readonly name = 'BadScenario';
}

/** The scenarios of a file's text. Throws BadScenario; unknown members are refused. */
export function parseScenarios(text: string): readonly Scenario[] {
  const found = z.array(z.unknown()).safeParse(parsedJson(text));
  if (!found.success) throw new BadScenario('not a JSON list of scenarios');
  return found.data.map((given, index) => parseScenario(given, index));
}

function parseScenario(given: unknown, index: number): Scenario {
  const parsed = Scenario.safeParse(given);
  if (parsed.success) return parsed.data;
  const named = z.object({ id: z.string() }).safeParse(given);
  const place = named.success ? `scenario ${named.data.id}` : `scenario number ${index + 1}`;
  const problems = parsed.error.issues.map((issue) => `${memberOf(issue.path)}: ${issue.message}`);
  throw new BadScenario(`${place}: ${problems.join('; ')}`);
}

/** `steps[2].observe.provider`. */
function memberOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the scenario itself';
  return path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadScenario('not JSON');
  }
}

function isBlockedReason(reason: string): boolean {
  return BLOCKED.some((one) => one === reason);
}

function isUnique(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

function isNotEmpty(value: object): boolean {
  return Object.keys(value).length > 0;
}
