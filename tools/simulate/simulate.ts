import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { runSeed } from '../../test/simulation/random-schedule.ts';
import { runScenario, type ScenarioResult } from '../../test/simulation/run-scenario.ts';
import { BadScenario, parseScenarios, type Scenario } from '../../test/simulation/scenario.ts';
import { type Arguments, asksForHelp, BadArguments, readArguments, USAGE } from './arguments.ts';
import {
  hasFailed,
  type Output,
  scenarioJson,
  scenarioLine,
  scenarioSummary,
  seedJson,
  seedProgress,
  seedStory,
  seedSummary,
} from './report.ts';

/** 1 = a scenario or a seed failed, 2 = a usage error, an unreadable file, or one that is no list of scenarios. */
export type ExitCode = 0 | 1 | 2;

/** Where a run of seeds begins when nobody says: every run looks at others. */
const FIRST_SEED_MAX = 1_000_000_000;

/** What would Spillway do in this case (design 9)? Results on `out`, summary and progress on `err`. */
export async function simulate(args: readonly string[], out: Output, err: Output): Promise<ExitCode> {
  if (asksForHelp(args)) {
    out.write(`${USAGE}\n`);
    return 0;
  }
  try {
    const given = readArguments(args);
    return await (given.seeds > 0 ? runSeeds(given, out, err) : runFiles(given, out, err));
  } catch (error) {
    if (!(error instanceof BadArguments) && !(error instanceof BadScenario)) throw error;
    const usage = error instanceof BadArguments ? `\n${USAGE}` : '';
    err.write(`simulate: ${error.message}${usage}\n`);
    return 2;
  }
}

async function runFiles({ files, json, trace }: Arguments, out: Output, err: Output): Promise<ExitCode> {
  // All files are read before anything runs: a bad one is no half result.
  const scenarios = files.flatMap(scenariosOf);
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    const result = await runScenario(scenario);
    results.push(result);
    out.write(`${json ? scenarioJson(result) : scenarioLine(result, scenario.title)}\n`);
    if (trace && result.faults.length > 0) err.write(`${result.trace.join('\n')}\n`);
  }
  err.write(`${scenarioSummary(results)}\n`);
  return hasFailed(results) ? 1 : 0;
}

async function runSeeds(
  { seeds, seed, json, trace, tells }: Arguments,
  out: Output,
  err: Output,
): Promise<ExitCode> {
  const first = seed ?? randomInt(FIRST_SEED_MAX);
  const progress = seedProgress(err, seeds);
  const failed: number[] = [];
  for (let done = 0; done < seeds; done += 1) {
    const result = await runSeed(first + done);
    const isBroken = result.faults.length > 0;
    if (isBroken) failed.push(result.seed);
    progress.on(done + 1, failed.length);
    if (json) out.write(`${seedJson(result)}\n`);
    else if (isBroken || tells) {
      progress.end();
      out.write(`${seedStory(result, trace)}\n`);
    }
  }
  progress.end();
  err.write(`${seedSummary(first, seeds, failed)}\n`);
  return failed.length > 0 ? 1 : 0;
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
