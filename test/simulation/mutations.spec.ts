import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Edit, type Mutant, withMutant } from './mutant.ts';
import type { Temper } from './random-schedule.ts';
import { parseScenarios } from './scenario.ts';

/** Rules that lose money or an instance when they are broken like this, and what of the simulation notices it. */
interface Mutation {
  readonly rule: string;
  readonly edits: readonly Edit[];
  /** Scenarios of the conformance set of which at least one must fail. */
  readonly scenarios?: readonly string[];
  /** Random schedules of which at least one must be broken, at most so many. */
  readonly seeds?: { readonly atMost: number; readonly temper?: Temper };
}

const DOMAIN = 'libs/domain/src';
const PROVISIONER = 'apps/provisioner/src';

const MUTATIONS: readonly Mutation[] = [
  {
    rule: 'skip the look at what an earlier try left',
    edits: [
      {
        file: `${DOMAIN}/provision/resolve.ts`,
        right: 'if (!work.knows.includes(intent.intent)) return look(state, intent, lane, view);',
        wrong: '',
      },
      {
        file: `${DOMAIN}/provision/resolve.ts`,
        right: 'return intent.sends === 0 ? send(state, intent, view) : look(state, intent, lane, view);',
        wrong: 'return send(state, intent, view);',
      },
    ],
    scenarios: ['RES-04', 'CPT-20'],
  },
  {
    rule: 'act although another worker holds the lease',
    edits: [
      {
        file: 'libs/event-log/src/in-memory-coordination.ts',
        right: 'return row.holder === null || row.holder === holder || row.untilMs <= this.#now();',
        wrong: 'return true;',
      },
      {
        file: `${PROVISIONER}/steps/lease.ts`,
        right: 'if (others && row.until > (await log.leases.clock())) return null;',
        wrong: '',
      },
    ],
    scenarios: ['LEA-01', 'TWO-08'],
  },
  {
    rule: 'drop the fence',
    edits: [
      {
        file: 'libs/event-log/src/in-memory-coordination.ts',
        right: 'return this.#rows.get(name)?.fence === fence;',
        wrong: 'return true;',
      },
    ],
    seeds: { atMost: 300, temper: { delayOneIn: 20, leaseS: 5 } },
  },
  {
    rule: 'adopt by name',
    edits: [
      {
        file: `${DOMAIN}/provision/residue.ts`,
        right: "return { whose: bearsOurName ? 'conflict' : 'foreign' };",
        wrong:
          "const newest = owner.intents.at(-1); return newest ? { whose: 'ours', intent: newest } : { whose: 'foreign' };",
      },
    ],
    scenarios: ['HUM-02', 'CPT-11'],
  },
  {
    rule: 'ignore how long a listing lags',
    edits: [
      {
        file: `${DOMAIN}/provision/resolve.ts`,
        right: 'return plusSeconds(lastMoment, lane.listingGraceMs / 1000);',
        wrong: 'return lastMoment;',
      },
    ],
    scenarios: ['ANS-11'],
  },
  {
    rule: 'reap before probing',
    edits: [
      {
        file: `${DOMAIN}/provision/condition.ts`,
        right: "return history.dispatched || machine.state === 'running';",
        wrong: 'return false;',
      },
    ],
    scenarios: ['CPT-30'],
  },
  {
    rule: 'forget handle and stamp',
    edits: [
      {
        file: `${DOMAIN}/placement-fold.ts`,
        right: 'stamps: [...state.stamps, data.key],',
        wrong: '',
      },
      {
        file: `${DOMAIN}/placement-fold.ts`,
        right: `    acceptance: exceptFor(state, data.key),
    current: data.instance,`,
        wrong: '',
      },
    ],
    scenarios: ['CPT-36', 'VAN-23'],
  },
  {
    rule: 'create again on an unknown outcome',
    edits: [
      {
        file: `${DOMAIN}/provision/settle.ts`,
        right: "case 'outcome_unknown':\n      return 'unknown';",
        wrong: "case 'outcome_unknown': return 'paused';",
      },
    ],
    scenarios: ['ANS-05', 'ANS-08'],
  },
  {
    rule: 'blame missing capacity for residue',
    edits: [
      {
        file: `${DOMAIN}/provision/reap.ts`,
        right: "blocked('terminal_residue_unresolved', '9.3 reap_limit', evidence),",
        wrong: "blocked('no_compute_available', '9.3 reap_limit', evidence),",
      },
    ],
    scenarios: ['RES-11'],
  },
  {
    rule: 'take a listing that failed for an empty one',
    edits: [
      {
        file: `${PROVISIONER}/listings.ts`,
        right: "return 'failed';",
        wrong: 'return { startedAt, instances: [] };',
      },
    ],
    scenarios: ['ANS-14'],
    seeds: { atMost: 400 },
  },
  {
    rule: 'end a machine whose result cannot be read',
    edits: [
      {
        file: `${DOMAIN}/provision/condition.ts`,
        right: "if (!history.dispatched) return 'residue';",
        wrong: "if (probe !== null) return 'residue';",
      },
    ],
    scenarios: ['RES-29'],
  },
  {
    rule: 'end what a person keeps',
    edits: [
      {
        file: `${DOMAIN}/provision/resolve.ts`,
        right: 'const kept = own.filter(({ machine }) => machine.keep);',
        wrong: 'const kept = own.filter(() => false);',
      },
      {
        file: `${PROVISIONER}/steps/reap.ts`,
        right: "if (read.kind === 'ok' && !read.value.instance.keep) return true;",
        wrong: "if (read.kind === 'ok') return true;",
      },
    ],
    scenarios: ['RES-21'],
  },
  {
    rule: 'send a create after its limit',
    edits: [
      {
        file: `${PROVISIONER}/steps/create.ts`,
        right: "if (isTooLate(run, announced.askedMs)) return 'go_on';",
        wrong: '',
      },
    ],
    seeds: { atMost: 300, temper: { delayOneIn: 5 } },
  },
  {
    rule: 'move before the hung machine is gone',
    edits: [
      {
        file: `${DOMAIN}/provision/carry-out.ts`,
        right: "const holds = cancel === 'running' || move.state === 'cancelling';",
        wrong: "const holds = move.state === 'cancelling';",
      },
    ],
    scenarios: ['WED-19'],
  },
  {
    rule: 'call a cancel confirmed that failed',
    edits: [
      {
        file: `${PROVISIONER}/steps/cancel.ts`,
        right: 'if (!isGone) return unconfirmed(run, step, ending);',
        wrong: '',
      },
    ],
    scenarios: ['QTO-08', 'WED-19'],
  },
  {
    rule: 'count no create before it is sent',
    edits: [
      {
        file: `${DOMAIN}/provision/walk.ts`,
        right: "if (rung.kind === 'primary' && !isCounted(state, walk, rung, view)) {",
        wrong: 'if (view.now === "") {',
      },
    ],
    scenarios: ['CAP-01', 'LAD-01'],
    seeds: { atMost: 20 },
  },
  {
    rule: 'move without asking',
    edits: [
      {
        file: `${DOMAIN}/intent/escalate.ts`,
        right: 'return asked(state, record, escalation, context);',
        wrong: "return [decided(escalation, 'standing')];",
      },
    ],
    scenarios: ['ASK-01'],
    seeds: { atMost: 400 },
  },
];

const SCENARIOS = parseScenarios(
  readFileSync(new URL('../conformance/scenarios/scenarios.json', import.meta.url), 'utf8'),
);
/** Loading everything anew takes a second or two; a busy machine needs longer for many seeds. */
const MUTATION_MAX_MS = 180_000;

/** What the simulation says of a mutant: the scenarios that failed, and the first seed that was broken. */
async function caughtBy({ scenarios = [], seeds }: Mutation, { runScenario, runSeed }: Mutant) {
  const failed: string[] = [];
  for (const id of scenarios) {
    const scenario = SCENARIOS.find((one) => one.id === id);
    if (scenario === undefined) throw new Error(`there is no scenario ${id}`);
    const { faults } = await runScenario(scenario);
    if (faults.length > 0) failed.push(id);
  }
  if (seeds === undefined) return { failed, broken: null };
  for (let seed = 1; seed <= seeds.atMost; seed += 1) {
    const { faults } = await runSeed(seed, seeds.temper);
    if (faults.length > 0) return { failed, broken: seed };
  }
  return { failed, broken: null };
}

describe('a rule that is broken so that money is lost is noticed', () => {
  test.each(MUTATIONS.map((mutation) => [mutation.rule, mutation] as const))(
    '%s',
    async (_rule, mutation) => {
      const { failed, broken } = await withMutant(mutation.edits, (mutant) => caughtBy(mutation, mutant));
      expect(failed).toEqual(mutation.scenarios ?? []);
      if (mutation.seeds !== undefined) expect(broken).not.toBeNull();
    },
    MUTATION_MAX_MS,
  );
});

test(
  'without a mutation everything holds, loaded in the same way',
  async () => {
    const all = [...new Set(MUTATIONS.flatMap(({ scenarios = [] }) => scenarios))];
    const control = { rule: 'none', edits: [], scenarios: all, seeds: { atMost: 20 } };
    expect(await withMutant([], (mutant) => caughtBy(control, mutant))).toEqual({ failed: [], broken: null });
  },
  MUTATION_MAX_MS,
);

test('an edit that does not fit its file any more is a fault of the test', async () => {
  const edit = { file: `${DOMAIN}/provision/reap.ts`, right: 'no such expression', wrong: '' };
  const missed = `"${edit.right}" stands 0 times in ${edit.file}`;
  await expect(withMutant([edit], async () => null)).rejects.toThrow(missed);
});
