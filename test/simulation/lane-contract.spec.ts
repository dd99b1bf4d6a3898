import { describe } from 'vitest';
import { laneContract } from '../contract/lane.contract.ts';
import {
  type LaneUnderTest,
  type Trouble,
  type TroubledCall,
  WORKLOAD,
} from '../contract/lane-under-test.ts';
import { type CallScript, type CreateScript, counted } from './answers.ts';
import { VirtualClock } from './virtual-clock.ts';
import { defaultScripts, World } from './world.ts';

/** What can only happen on a real wire. */
const OF_A_WIRE: readonly Trouble[] = ['html', 'garbage', 'wrong_shape', 'partial'];

function openWorld() {
  const scripts = defaultScripts();
  const world = new World({
    clock: new VirtualClock('2026-01-05T00:00:00Z'),
    deployment: 'test',
    allocation: '0123456789abcdef',
    newestIntent: async () => null,
    scripts,
  });
  return { scripts, world };
}

function laneUnderTest(name: 'runpod' | 'gcp'): LaneUnderTest {
  const { scripts, world } = openWorld();
  const script = scripts[name];
  const letter = name === 'runpod' ? 'P' : 'X';
  const lane = world[name];
  const standing = (intent: string) => lane.standing.filter((machine) => machine.intent === intent);
  const created = (intent: string) =>
    world.ledger.of(name, 'created').filter((happening) => happening.intent === intent);
  let strangers = 0;
  return {
    lane,
    hasty: lane,
    request: {
      pool: name === 'gcp' ? 'on-demand' : null,
      zone: null,
      machine: null,
      gpu: null,
      maxRunS: null,
      workload: WORKLOAD,
    },
    async trouble(call, trouble, retryAfterS) {
      apply(call, trouble, retryAfterS);
    },
    madeOf: async (intent) => created(intent).length,
    liveOf: async (intent) => standing(intent).length,
    creates: async () => world.ledger.of(name, 'create_called').length,
    async addStranger({ name: shown, mark, keep = false }) {
      strangers += 1;
      const id = `F${strangers}`;
      const marker = mark ?? { deployment: null, allocation: null, intent: null };
      if (name === 'runpod') {
        const foreign = { id, mark: { kind: 'fixed', name: shown, marker }, keep } as const;
        world.runpod.add({ ...foreign, state: 'RUNNING', workload: 'unknown', createdMs: 0 });
      } else {
        world.gcp.add(id, mark === undefined ? null : { name: shown, ...mark }, shown, keep);
      }
      return id;
    },
    async stop(id) {
      if (name === 'runpod') world.runpod.change(id, { state: 'EXITED' });
      else world.gcp.observed(id, 'terminated', 0);
    },
    unreachable() {
      const other = openWorld();
      other.scripts[name].create = () => ({ kind: 'refused', failure: 'unavailable', status: null });
      return other.world[name];
    },
    async lag(seconds) {
      script.listLagMs = seconds * 1000;
      script.readLagMs = seconds * 1000;
    },
    close: async () => undefined,
  };

  function apply(call: TroubledCall, trouble: Trouble | null, retryAfterS?: number): void {
    switch (call) {
      case 'create':
        script.create = counted((number) => createThat(trouble, `${letter}${number}`, retryAfterS));
        return;
      case 'list':
        script.list = () => callThat(trouble);
        return;
      case 'get':
        script.get = () => callThat(trouble);
        return;
      case 'terminate': {
        const answer = trouble === 'said_done_but_not' ? 'requested' : callThat(trouble);
        if ('terminate' in script) script.terminate = () => answer;
        else script.cancel = () => answer;
        return;
      }
      case 'probe_lane':
        return;
    }
  }
}

function createThat(trouble: Trouble | null, id: string, retryAfterS?: number): CreateScript {
  const lost = (made: string | null, status: number | null) =>
    ({ kind: 'lost', id: made, status, text: 'no answer' }) as const;
  switch (trouble) {
    case null:
      return { kind: 'ok', id };
    case 'error':
    case 'unavailable':
      return lost(null, 503);
    case 'error_but_done':
      return lost(id, 500);
    case 'hang_but_done':
    case 'reset_but_done':
      return lost(id, null);
    case 'hang':
    case 'reset':
      return lost(null, null);
    case 'capacity':
    case 'quota':
    case 'rejected':
    case 'auth':
    case 'rate_limited':
      return {
        kind: 'refused',
        failure: trouble,
        status: 400,
        ...(retryAfterS === undefined ? {} : { retryAfterS }),
      };
    default:
      throw new Error(`no create of the simulation meets ${trouble}`);
  }
}

function callThat(trouble: Trouble | null): CallScript {
  switch (trouble) {
    case null:
      return 'ok';
    case 'auth':
    case 'rate_limited':
    case 'not_found':
      return trouble;
    default:
      return 'fails';
  }
}

describe('the simulated terminal lane', () => {
  laneContract(async () => laneUnderTest('runpod'), OF_A_WIRE);
});

describe('the simulated primary lane', () => {
  laneContract(async () => laneUnderTest('gcp'), OF_A_WIRE);
});
