import type { IntentMark, Lane } from '#domain/provision/lane';
import { base32 } from '#events/envelope';
import { type CreateScript, counted, createScript, inOrder } from './answers.ts';
import { Ledger } from './ledger.ts';
import { type GivenPod, PodCloud, type PodMark, type PodScript } from './pod-cloud.ts';
import { PrimaryCloud, type PrimaryScript } from './primary-cloud.ts';
import type { ScenarioPod, ScenarioWorld } from './scenario.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** The lanes of every simulation: what a rung or the terminal entry of a plan may name (FORMAT.md). */
export const LANES = {
  gcp: { kind: 'primary', queueingPools: ['flex-start'] },
  slurm: { kind: 'batch', queueingPools: [] },
  runpod: { kind: 'terminal', queueingPools: [] },
} as const;
export type LaneName = keyof typeof LANES;

export interface WorldOptions {
  readonly clock: VirtualClock;
  readonly deployment: string;
  /** First 16 hex digits of the allocation's ref. */
  readonly allocation: string;
  readonly newestIntent: () => Promise<IntentMark | null>;
  readonly scripts: {
    readonly gcp: PrimaryScript;
    readonly slurm: PrimaryScript;
    readonly runpod: PodScript;
  };
  readonly createDeadlineMs?: number;
}

const PRIMARY_GRACE_MS = 30_000;

/** The providers of one simulation with everything that stands there, and the ledger of what really happened. */
export class World {
  readonly ledger: Ledger;
  readonly gcp: PrimaryCloud;
  readonly slurm: PrimaryCloud;
  readonly runpod: PodCloud;
  readonly #options: WorldOptions;

  constructor(options: WorldOptions) {
    this.#options = options;
    const { clock, scripts, newestIntent, createDeadlineMs = 0 } = options;
    const now = clock.storeMs;
    this.ledger = new Ledger(now);
    const shared = { now, ledger: this.ledger, createDeadlineMs };
    const primary = { ...shared, listingGraceMs: PRIMARY_GRACE_MS };
    this.gcp = new PrimaryCloud({ ...primary, ...LANES.gcp, lane: 'gcp', script: scripts.gcp });
    this.slurm = new PrimaryCloud({ ...primary, ...LANES.slurm, lane: 'slurm', script: scripts.slurm });
    this.runpod = new PodCloud({ ...shared, lane: 'runpod', script: scripts.runpod, newestIntent });
  }

  get lanes(): ReadonlyMap<LaneName, Lane> {
    return new Map<LaneName, Lane>([
      ['gcp', this.gcp],
      ['slurm', this.slurm],
      ['runpod', this.runpod],
    ]);
  }

  /** How the lanes answer from now on: what is not named stays, a list that is given starts anew. */
  change(world: ScenarioWorld): void {
    const { gcp, slurm, runpod } = this.#options.scripts;
    const creates = (list: readonly string[]) => inOrder(list.map(createScript), NO_ROOM);
    if (world.gcp?.create) gcp.create = creates(world.gcp.create);
    if (world.gcp?.cancel) gcp.cancel = inOrder([world.gcp.cancel], 'ok');
    if (world.slurm?.create) slurm.create = creates(world.slurm.create);
    const pods = world.runpod;
    if (pods === undefined) return;
    if (pods.create) runpod.create = creates(pods.create);
    if (pods.bootstrap) runpod.bootstrap = inOrder(pods.bootstrap, 'ok');
    if (pods.dispatch) runpod.dispatch = inOrder(pods.dispatch, 'ok');
    if (pods.terminate) runpod.terminate = inOrder(pods.terminate, 'ok');
    if (pods.probe) runpod.probe = inOrder([pods.probe], 'ok');
    if (pods.list) {
      const [answer = 'ok', seconds] = pods.list.split(':');
      runpod.list = inOrder([answer === 'fails' ? 'fails' : 'ok'], 'ok');
      runpod.listLagMs = Number(seconds ?? 0) * 1000;
    }
    if (pods.pods) this.replacePods(pods.pods);
  }

  replacePods(pods: readonly ScenarioPod[]): void {
    this.runpod.replace(pods.map((pod) => this.givenPod(pod)));
  }

  givenPod({ id, name, state, marker, workload, created_at, keep }: ScenarioPod): GivenPod {
    const createdMs = this.#options.clock.atSeconds(created_at);
    return { id, mark: this.#mark(id, name, marker), state, workload, createdMs, keep };
  }

  #mark(id: string, name: string, marker: ScenarioPod['marker']): PodMark {
    const { deployment, allocation } = this.#options;
    // An intent that no log knows; different for each pod, as if each came from a try of its own.
    const intent = base32(Buffer.from(`${id} is no intent of any log`), 26);
    switch (marker) {
      case 'none':
        return { kind: 'fixed', name, marker: { deployment: null, allocation: null, intent: null } };
      case 'this_intent':
        return { kind: 'newest_intent', name: null };
      case 'other_name':
        return { kind: 'newest_intent', name };
      case 'other_intent':
        return { kind: 'fixed', name, marker: { deployment, allocation, intent } };
      case 'other_deployment':
        return { kind: 'fixed', name, marker: { deployment: 'other', allocation, intent } };
    }
  }
}

const NO_ROOM: CreateScript = { kind: 'refused', failure: 'capacity', status: 503 };

/** The lanes of a scenario that says nothing of them: everything succeeds (FORMAT.md). */
export function defaultScripts(): WorldOptions['scripts'] {
  const primary = (letter: string): PrimaryScript => ({
    create: counted((call) => ({ kind: 'ok', id: `${letter}${call}` })),
    cancel: () => 'ok',
    list: () => 'ok',
    listLagMs: 0,
    readLagMs: 0,
    get: () => 'ok',
  });
  return {
    gcp: primary('X'),
    slurm: primary('J'),
    runpod: {
      create: counted((call) => ({ kind: 'ok', id: `P${call}` })),
      bootstrap: () => 'ok',
      dispatch: () => 'ok',
      list: () => 'ok',
      listLagMs: 0,
      readLagMs: 0,
      get: () => 'ok',
      terminate: () => 'ok',
      probe: () => 'ok',
    },
  };
}
