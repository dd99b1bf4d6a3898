import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { runSeed } from '../../test/simulation/random-schedule.ts';
import { runScenario, type ScenarioResult } from '../../test/simulation/run-scenario.ts';
import { BadScenario, parseScenarios, type Scenario } from '../../test/simulation/scenario.ts';
import { type Arguments, BadArguments, readArguments, USAGE } from './arguments.ts';
import {
  hasFailed,
  scenarioJson,
  scenarioLine,
  scenarioSummary,
  seedJson,
  seedProgress,
  seedStory,
  seedSummary,
} from './report.ts';

/** A usage error, an unreadable file, or one that is no list of scenarios. */
const EXIT_BAD_INPUT = 2;
/** Where a run of seeds begins when nobody says: every run looks at others. */
const FIRST_SEED_MAX = 1_000_000_000;

/** `npm run -s simulate`: what would Spillway do in this case (design 9)? */
async function main(args: readonly string[]): Promise<void> {
  try {
    const given = readArguments(args);
    await (given.seeds > 0 ? runSeeds(given) : runFiles(given));
  } catch (error) {
    if (!(error instanceof BadArguments) && !(error instanceof BadScenario)) throw error;
    const usage = error instanceof BadArguments ? `\n${USAGE}` : '';
    process.stderr.write(`simulate: ${error.message}${usage}\n`);
    process.exitCode = EXIT_BAD_INPUT;
  }
}

async function runFiles({ files, json, trace }: Arguments): Promise<void> {
  // All files are read before anything runs: a bad one is no half result.
  const scenarios = files.flatMap(scenariosOf);
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    const result = await runScenario(scenario);
    results.push(result);
    print(json ? scenarioJson(result) : scenarioLine(result, scenario.title));
    if (trace && result.faults.length > 0) print(result.trace.join('\n'));
  }
  process.stderr.write(`${scenarioSummary(results)}\n`);
  if (hasFailed(results)) process.exitCode = 1;
}

async function runSeeds({ seeds, seed, json, trace, tells }: Arguments): Promise<void> {
  const first = seed ?? randomInt(FIRST_SEED_MAX);
  const progress = seedProgress(process.stderr, seeds);
  const failed: number[] = [];
  for (let done = 0; done < seeds; done += 1) {
    const result = await runSeed(first + done);
    const isBroken = result.faults.length > 0;
    if (isBroken) failed.push(result.seed);
    progress.on(done + 1, failed.length);
    if (json) print(seedJson(result));
    else if (isBroken || tells) {
      progress.end();
      print(seedStory(result, trace));
    }
  }
  progress.end();
  process.stderr.write(`${seedSummary(first, seeds, failed)}\n`);
  if (failed.length > 0) process.exitCode = 1;
}

function scenariosOf(file: string): readonly Scenario[] {
  try {
    return parseScenarios(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof BadScenario) throw new BadScenario(`${file}: ${error.message}`);
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new BadScenario(`${file}: cannot be read (${String(error.code)})`);
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

await main(process.argv.slice(2));
