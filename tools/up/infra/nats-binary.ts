import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { copyFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { cached } from './cache.ts';
import { type CommandResult, type Log, type Refusal, runCommand } from './chain.ts';
import { infraEnvironment } from './environment.ts';

const NAME = 'nats-server';
/** The package lists of a distribution are some 10 MB. */
const UPDATE_BOUND_MS = 90_000;
const DOWNLOAD_BOUND_MS = 60_000;
const TRIES = 2;

/** The path of the NATS server installed on this machine. */
export async function findLocalNats(): Promise<string | Refusal> {
  const folders = [...infraEnvironment().path.split(delimiter), '/usr/sbin', '/usr/bin', '/usr/local/bin'];
  for (const folder of new Set(folders)) {
    const file = join(folder, NAME);
    if (folder !== '' && existsSync(file) && (await runs(file))) return file;
  }
  return { reason: `no ${NAME} is installed` };
}

/**
 * The path of a NATS server in the cache; the first time it is fetched as the distribution's package,
 * which apt checks by signature, and unpacked without being installed. Needs no root.
 */
export async function findDownloadedNats(log: Log = () => {}): Promise<string | Refusal> {
  try {
    const folder = await cached(`${NAME}-${process.platform}-${process.arch}`, undefined, log, (draft) =>
      fetchInto(draft, log),
    );
    const file = join(folder, NAME);
    return (await runs(file)) ? file : { reason: `${file} does not run` };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

async function fetchInto(draft: string, log: Log): Promise<void> {
  for (const tool of ['apt-get', 'dpkg-deb']) {
    const { ok } = await runCommand(tool, ['--version'], { timeoutMs: 5_000 });
    if (!ok) throw new Error(`${tool}, which fetches ${NAME} on Debian and Ubuntu, is not here`);
  }
  log(`Fetching ${NAME} as a package of the distribution (once; a few seconds).`);
  const work = mkdtempSync(join(tmpdir(), 'spillway-apt-'));
  try {
    const unpacked = join(work, 'unpacked');
    await succeed('dpkg-deb', ['-x', await downloadPackage(work), unpacked], work);
    const binary = ['usr/sbin', 'usr/bin'].map((folder) => join(unpacked, folder, NAME)).find(existsSync);
    if (binary === undefined) throw new Error(`the package ${NAME} holds no such program`);
    await copyFile(binary, join(draft, NAME));
    chmodSync(join(draft, NAME), 0o755);
    await copyFile(join(unpacked, 'usr/share/doc', NAME, 'copyright'), join(draft, 'copyright')).catch(
      () => {},
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** With the machine's own package lists if they serve, which saves fetching them; else with fresh, private ones. */
async function downloadPackage(work: string): Promise<string> {
  await writeAptConfig(work, 'its own lists');
  const first = await apt(['download', NAME], work, DOWNLOAD_BOUND_MS);
  if (!first.ok) {
    await writeAptConfig(work, 'private lists');
    await twice(() => apt(['update'], work, UPDATE_BOUND_MS), { mayFail: true });
    await twice(() => apt(['download', NAME], work, DOWNLOAD_BOUND_MS), { mayFail: false });
  }
  const file = (await readdir(work)).find((name) => name.endsWith('.deb'));
  if (file === undefined) throw new Error(`apt-get download left no package of ${NAME}`);
  return join(work, file);
}

/** An update that fails for one unrelated source has fetched the lists of the others: the download tells. */
async function twice(step: () => Promise<CommandResult>, { mayFail }: { readonly mayFail: boolean }) {
  let result = await step();
  for (let tries = 1; !result.ok && tries < TRIES; tries++) result = await step();
  if (!result.ok && !mayFail) {
    throw new Error(`apt-get cannot fetch ${NAME} (${lastLine(result.complaint)})`);
  }
}

async function apt(args: readonly string[], work: string, timeoutMs: number): Promise<CommandResult> {
  // Proxies may be set in the environment: apt gets all of it.
  const env = { ...process.env, APT_CONFIG: join(work, 'apt.conf'), LC_ALL: 'C' };
  return await runCommand('apt-get', ['-q', ...args], { cwd: work, timeoutMs, env });
}

/**
 * Keeps apt away from the system: its own cache and, if asked for, its own lists. The system's apt.conf
 * is left out but for how to reach the servers, since it may hold hooks that clear the system's caches.
 */
async function writeAptConfig(work: string, lists: 'its own lists' | 'private lists'): Promise<void> {
  const none = join(work, 'none');
  const listsDir = join(work, 'lists');
  for (const folder of [none, join(listsDir, 'partial'), join(work, 'cache/archives/partial')]) {
    mkdirSync(folder, { recursive: true });
  }
  const system = await runCommand('apt-config', ['dump'], { timeoutMs: 5_000 });
  const reach = system.stdout
    .split('\n')
    .filter((line) => /^Acquire::(https?|Check-Valid-Until)\b/i.test(line));
  const lines = [
    `Dir::Etc::main "/dev/null";`,
    `Dir::Etc::parts "${none}";`,
    `Dir::Cache "${join(work, 'cache')}";`,
    ...(lists === 'private lists' ? [`Dir::State::lists "${listsDir}";`] : []),
    // As root, apt would fetch as a user who may not enter our private folder.
    'APT::Sandbox::User "root";',
    'Debug::NoLocking "true";',
    'Acquire::Languages "none";',
    ...reach,
  ];
  writeFileSync(join(work, 'apt.conf'), `${lines.join('\n')}\n`, { mode: 0o600 });
}

async function succeed(command: string, args: readonly string[], cwd: string): Promise<void> {
  const result = await runCommand(command, args, { cwd, timeoutMs: 30_000 });
  if (!result.ok) throw new Error(`${command} failed (${lastLine(result.complaint)})`);
}

async function runs(file: string): Promise<boolean> {
  return (await runCommand(file, ['--version'], { timeoutMs: 5_000 })).ok;
}

function lastLine(text: string): string {
  return text.split('\n').at(-1) ?? '';
}
