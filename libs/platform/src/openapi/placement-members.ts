import {
  CODE_MAX_CHARS,
  MESSAGE_MAX_CHARS,
  NAME_MAX_CHARS,
  TEXT_MAX_CHARS,
} from '#domain/attempt/attempt-body';
import { MESSAGE_ID_MAX_CHARS, RUNGS_MAX } from '#domain/provision/launch-body';
import { LIMITS } from '#domain/provision/limits';
import { MEMBERS, type MemberDoc } from './members.ts';

const word = (description: string) => ({ description, maxLength: TEXT_MAX_CHARS });
const count = (description: string) => ({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

const ATTEMPTS_ONLY = / Zero and less are tracked.*$/;

const named: Readonly<Record<string, MemberDoc>> = {
  message_id: {
    description:
      'Names this call, so that a repeat gets the same answer and records nothing. The same as the header ' +
      'Idempotency-Key; both and different is refused.',
    minLength: 1,
    maxLength: MESSAGE_ID_MAX_CHARS,
  },
  logical_allocation: {
    description: 'Stable name of the thing to place; trimmed.',
    minLength: 1,
    maxLength: NAME_MAX_CHARS,
  },
};

/** The 13 invariants, without what only attempts say of them. */
const invariants = Object.fromEntries(
  Object.entries(MEMBERS)
    .filter(([, { description }]) => description.startsWith('Invariant '))
    .map(([name, doc]) => [name, { ...doc, description: doc.description.replace(ATTEMPTS_ONLY, '') }]),
);

const limits = Object.fromEntries(
  LIMITS.map(({ sentAs, builtIn }) => [
    sentAs,
    {
      description: `Positive. Absent = that of the deployment, which is ${builtIn} unless it is configured.`,
    },
  ]),
);

/** Every member of a launch, by name (failover 2.1). */
export const LAUNCH_MEMBERS: Readonly<Record<string, MemberDoc>> = {
  ...invariants,
  ...limits,
  ...named,
  request: {
    description: 'The 13 invariants. Needed for a move to preemptible capacity by consent. Sealed.',
  },
  plan: { description: 'Where to try, in order, and the paid last resort.' },
  rungs: { description: `1 to ${RUNGS_MAX} ways to get an instance, tried in this order.` },
  id: word('Name of the rung in this plan; no other one has it.'),
  lane: word('A lane of the deployment. Of a rung: primary or batch; of the terminal entry: terminal.'),
  pool: word('The pool of the lane, for example flex-start, on-demand or batch.'),
  zones: { description: 'Tried in order inside the rung. Absent = the lane chooses.' },
  machine: word("The lane's own name of a machine."),
  gpu: { description: 'Absent members = whatever the machine has.' },
  family: word('GPU family.'),
  product: word('GPU product.'),
  count: count('Number of GPUs. Of the terminal entry: not above that of the smallest rung.'),
  max_run_s: { description: 'The longest run, in seconds.' },
  budget_s: { description: 'Declared run time in seconds. Absent = unknown: a silent machine is not hung.' },
  terminal: { description: 'Paid last resort. Absent = none: then every failover behaves as never.' },
  workload: {
    description:
      'What to run: exactly one of command and arguments. Absent = provision only; it never fails over. Sealed.',
  },
  command: { description: 'One command line.', minLength: 1, maxLength: MESSAGE_MAX_CHARS },
  arguments: { description: 'A command in its parts.' },
  image: word('Container image.'),
  branch: word('Branch of the source.'),
  env: { description: 'Variables of the workload.' },
  outputs: { description: 'What the run leaves behind.' },
  disk_bytes: count('Disk. Of the terminal entry: at least that of the workload.'),
  memory_bytes: count('Memory. Of the terminal entry: at least that of the workload.'),
  limits: { description: 'Limits of this launch; what is absent is filled in and recorded with it.' },
  failover: {
    description:
      'Consent to paid failover: standing = given beforehand, ask = a person is asked, never = none.',
  },
};

/** Every member of an observation, by name (failover 2.2). */
export const OBSERVATION_MEMBERS: Readonly<Record<string, MemberDoc>> = {
  ...named,
  instance: word("The provider's id that was polled. Not the current instance: unchanged."),
  lane: word('The lane of the instance.'),
  observed_at: {
    description: 'When it was polled: RFC 3339 in UTC. More than 300 s ahead of the clock is refused.',
  },
  provider: {
    description: 'not_found only when confirmed: a positive answer of absence in two reads of the same poll.',
  },
  guest: { description: 'What the machine says of itself. Absent = unreadable.' },
  phase: { description: 'done_unclean = bad exit, every output verified; wedged = its own watchdog.' },
  workload_started: { description: 'Absent = unknown.' },
  alarm: { description: 'Absent = none.' },
  log_age_s: { description: 'Age of the newest log line in seconds. Absent = unknown, which never counts.' },
  create_operation: { description: 'Absent = unknown.' },
  create_error: { description: 'With create_operation failed. Its text is sealed.' },
  code: { description: "The provider's code.", maxLength: CODE_MAX_CHARS },
  message: { description: "The provider's text.", maxLength: MESSAGE_MAX_CHARS },
  delete_operation: { description: 'Absent = unknown. A delete of Spillway itself is not present.' },
  port: { description: 'Pods only: whether a public port exists.' },
};
