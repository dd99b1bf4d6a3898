import { existsSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { loadCases } from '../../test/conformance/fallback-cases.ts';
import { type CaseResult, runFallbackCases } from '../../test/conformance/fallback-runner.ts';

const Options = z.object({
  url: z.string(),
  cases: z.string(),
  only: z.string().optional(),
  concurrency: z.number(),
});

const command = new Command()
  .name('conformance')
  .description('Runs the fallback cases against a running Spillway. Prints each failed case and a summary.')
  .option('--url <origin>', 'origin of Spillway', anOrigin, 'http://127.0.0.1:8787')
  .option('--cases <file>', 'file with the cases', aFile, 'test/conformance/fallback/cases.json')
  .option('--only <text>', 'only cases whose id or group contains the text')
  .option('--concurrency <number>', 'cases at a time', aCount, 8)
  .parse();

const options = Options.parse(command.opts());
const wanted = options.only ?? '';
const cases = loadCases(options.cases).filter(({ id, group }) => `${id}\n${group}`.includes(wanted));
const { results, followed, runId } = await runFallbackCases(cases, {
  baseUrl: options.url,
  concurrency: options.concurrency,
});

const failed = results.filter((result) => !result.passed);
for (const result of failed) process.stdout.write(`${lineOf(result)}\n`);
process.stdout.write(
  `${results.length - failed.length} of ${results.length} cases pass (run ${runId}, ${followed} answers by location)\n`,
);
// No case at all is a mistake in --only or --cases, not a success.
process.exitCode = failed.length > 0 || results.length === 0 ? 1 : 0;

function lineOf({ id, mismatches }: CaseResult): string {
  return `FAIL ${id}: ${mismatches.map(({ step, message }) => `step ${step + 1}: ${message}`).join('; ')}`;
}

function anOrigin(text: string): string {
  if (!/^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')) {
    throw new InvalidArgumentError('Expected an origin such as http://127.0.0.1:8787.');
  }
  return text;
}

function aFile(text: string): string {
  if (!existsSync(text)) throw new InvalidArgumentError('There is no such file.');
  return text;
}

function aCount(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('Expected a whole number from 1 to 999.');
  return Number(text);
}
