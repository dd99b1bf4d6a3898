import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';
import type { runSeed } from './random-schedule.ts';
import type { runScenario } from './run-scenario.ts';

/** One expression of one file that is replaced by a wrong one. It must stand there exactly once. */
export interface Edit {
  /** From the project's root. */
  readonly file: string;
  readonly right: string;
  readonly wrong: string;
}

/** The simulation over changed rules; nothing on the disk is touched. */
export interface Mutant {
  readonly runScenario: typeof runScenario;
  readonly runSeed: typeof runSeed;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONDITIONS = ['source', 'module', 'node', 'development|production'];

/** An edit whose expression is not in its file, or more than once: the mutation would prove nothing. */
export class MutationMissed extends Error {
  override readonly name = 'MutationMissed';
}

/**
 * Loads the simulation and everything below it with these edits, uses it, and forgets it. Throws MutationMissed
 * for an edit that does not fit its file any more.
 */
export async function withMutant<Result>(
  edits: readonly Edit[],
  use: (mutant: Mutant) => Promise<Result>,
): Promise<Result> {
  const open = new Set(edits);
  const server = await createServer({
    root: ROOT,
    configFile: false,
    logLevel: 'silent',
    appType: 'custom',
    server: { middlewareMode: true, ws: false, watch: null, hmr: false },
    optimizeDeps: { noDiscovery: true },
    resolve: { conditions: CONDITIONS },
    ssr: { resolve: { conditions: CONDITIONS, externalConditions: CONDITIONS } },
    plugins: [{ name: 'mutant', enforce: 'pre', transform: (code, id) => mutated(code, id, open) }],
  });
  try {
    const schedules: unknown = await server.ssrLoadModule('/test/simulation/random-schedule.ts');
    const scenarios: unknown = await server.ssrLoadModule('/test/simulation/run-scenario.ts');
    const [missed] = open;
    if (missed !== undefined) throw new MutationMissed(`${missed.file} was not loaded`);
    if (!runsSeeds(schedules) || !runsScenarios(scenarios))
      throw new Error('the simulation has other exports');
    return await use({ runScenario: scenarios.runScenario, runSeed: schedules.runSeed });
  } finally {
    await server.close();
  }
}

function mutated(code: string, id: string, open: Set<Edit>): string {
  let changed = code;
  for (const edit of open) {
    if (!id.endsWith(`/${edit.file}`)) continue;
    const times = changed.split(edit.right).length - 1;
    if (times !== 1) throw new MutationMissed(`"${edit.right}" stands ${times} times in ${edit.file}`);
    changed = changed.replace(edit.right, () => edit.wrong);
    open.delete(edit);
  }
  return changed;
}

function runsSeeds(module: unknown): module is Pick<Mutant, 'runSeed'> {
  return has(module, 'runSeed');
}

function runsScenarios(module: unknown): module is Pick<Mutant, 'runScenario'> {
  return has(module, 'runScenario');
}

function has(module: unknown, name: string): boolean {
  return typeof module === 'object' && module !== null && typeof Reflect.get(module, name) === 'function';
}
