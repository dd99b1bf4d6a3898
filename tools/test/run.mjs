// Runs everything that a change must pass, and ends with one line counted from the runners' own reports.
// Plain JavaScript, because it runs before anything is built.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const REPORTS = 'test-results';
const MESSAGE_LINES = 12;

/**
 * In order of cost. Killed processes and browsers share few cores badly: one file at a time there. Flow files mostly
 * wait, each on apps of its own: two at a time.
 */
const SUITES = [
  { project: 'pure', args: ['--maxWorkers=2'] },
  { project: 'int', args: ['--no-file-parallelism'] },
  { project: 'flow', args: ['--maxWorkers=2'] },
  { project: 'crash', args: ['--no-file-parallelism'] },
  { project: 'browser', args: ['--no-file-parallelism'] },
];

// A gate fails for a change and not by chance: new seeds are drawn by hand, and by whoever gives one.
if (process.env.CI !== undefined) process.env.SPILLWAY_TEST_SEED ??= '20261130';

const wanted = process.argv.slice(2);
const suites = wanted.length === 0 ? SUITES : SUITES.filter(({ project }) => wanted.includes(project));
const total = { passed: 0, failed: 0, skipped: 0 };

rmSync(REPORTS, { recursive: true, force: true });
mkdirSync(REPORTS, { recursive: true });
if (wanted.length === 0) {
  for (const check of ['lint', 'boundaries', 'types']) run('npm', ['run', '--silent', check], check);
}
run('npm', ['run', '--silent', 'build'], 'build');
for (const { project, args } of suites) {
  const report = `${REPORTS}/${project}.json`;
  const startedMs = performance.now();
  const { status } = spawnSync(
    'npx',
    [
      'vitest',
      'run',
      '--project',
      project,
      ...args,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    { stdio: 'inherit' },
  );
  const counted = count(report);
  for (const key of Object.keys(total)) total[key] += counted[key];
  // A runner that fails without a failed test (a file that does not load, a server that does not stop) has failed.
  if (status !== 0 && counted.failed === 0) total.failed += 1;
  console.log(
    `${project}: ${sentence(counted)} in ${Math.round((performance.now() - startedMs) / 1000)} s\n`,
  );
}
for (const { fullName } of testsOf(suites, isSkipped)) console.log(`skipped: ${fullName}`);
for (const test of testsOf(suites, isSecondTry)) {
  console.log(`passed on the second try only: ${test.fullName}\n${whyOf(test)}`);
}
// Told again at the end: of a long log often only the end is kept.
for (const test of testsOf(suites, isFailed)) {
  console.log(`failed: ${test.file}: ${test.fullName}\n${whyOf(test)}`);
}
console.log(sentence(total));
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

function run(command, args, name) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status === 0) return;
  console.log(`${name} failed`);
  console.log(sentence({ passed: 0, failed: 1, skipped: 0 }));
  process.exit(1);
}

function count(report) {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
      readFileSync(report, 'utf8'),
    );
    return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** A skipped test tells its reason in its name. */
function isSkipped({ status }) {
  return status === 'pending' || status === 'skipped';
}

function isSecondTry({ status, failureMessages }) {
  return status === 'passed' && failureMessages?.length > 0;
}

function isFailed({ status }) {
  return status === 'failed';
}

/** The first lines of every try's message, without colours, indented. */
function whyOf({ failureMessages }) {
  return failureMessages
    .flatMap((message) => stripVTControlCharacters(message).split('\n').slice(0, MESSAGE_LINES))
    .map((line) => `  ${line}`)
    .join('\n');
}

function testsOf(ran, isMeant) {
  return ran.flatMap(({ project }) => {
    try {
      const { testResults } = JSON.parse(readFileSync(`${REPORTS}/${project}.json`, 'utf8'));
      return testResults.flatMap(({ name, status, message, assertionResults }) => {
        // What fails outside of every test (a file that does not load, a hook) is told by its file.
        const outside = { fullName: 'outside of its tests', status, failureMessages: [message] };
        return [...assertionResults, ...(message ? [outside] : [])]
          .filter(isMeant)
          .map((test) => ({ ...test, file: relative('.', name) }));
      });
    } catch {
      return [];
    }
  });
}

function sentence({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
