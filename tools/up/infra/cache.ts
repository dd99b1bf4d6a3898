import { randomBytes } from 'node:crypto';
import { accessSync, chmodSync, constants, existsSync, lstatSync, mkdirSync, mkdtempSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Identity, type Log, runCommand } from './chain.ts';
import { infraEnvironment } from './environment.ts';
import { canEnter, reachableTmpdir } from './identity.ts';
import { isRunning } from './processes.ts';

/**
 * The folder `name` in the cache, built if it is not there. Building happens beside it and ends with
 * a rename, so that two processes at once, or a kill in the middle, never leave half an entry.
 */
export async function cached(
  name: string,
  as: Identity | undefined,
  log: Log,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const cacheDir = await usableCacheDir(as, log);
  const entry = join(cacheDir, name);
  if (existsSync(entry)) return entry;

  await removeAbandonedBuilds(cacheDir);
  const draft = join(cacheDir, `${name}.draft-${process.pid}-${randomBytes(4).toString('hex')}`);
  mkdirSync(draft, { mode: 0o755 });
  try {
    await build(draft);
    await rename(draft, entry);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Losing the race is normal: the winner's entry is as good as ours.
    if (!existsSync(entry)) throw error;
  }
  return entry;
}

/** Copies a folder with owners and links; shares blocks where the file system can. */
export async function copyFolder(from: string, to: string): Promise<void> {
  const attempts = [['-a', '--reflink=auto'], ['-a']];
  let complaint = '';
  for (const flags of attempts) {
    const result = await runCommand('cp', [...flags, from, to], { timeoutMs: 60_000 });
    if (result.ok) return;
    complaint = result.complaint;
    await rm(to, { recursive: true, force: true });
  }
  throw new Error(`Cannot copy ${from} to ${to}: ${complaint}`);
}

async function usableCacheDir(as: Identity | undefined, log: Log): Promise<string> {
  const { cacheDir } = infraEnvironment();
  if (isWritable(cacheDir) && (await canEnter(cacheDir, as))) return cacheDir;

  const tmp = await reachableTmpdir(as);
  const shared = join(tmp, `spillway-cache-${process.getuid?.() ?? 'user'}`);
  // Binaries from the cache are executed: a folder that someone else could have put there is not used.
  if (isWritable(shared) && isOurs(shared)) return shared;

  const fresh = mkdtempSync(join(tmp, 'spillway-cache-'));
  chmodSync(fresh, 0o711);
  log(`Neither ${cacheDir} nor ${shared} can serve as cache: using ${fresh}.`);
  return fresh;
}

function isWritable(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isOurs(folder: string): boolean {
  const entry = lstatSync(folder);
  return entry.isDirectory() && entry.uid === process.getuid?.() && (entry.mode & 0o022) === 0;
}

async function removeAbandonedBuilds(cacheDir: string): Promise<void> {
  for (const name of await readdir(cacheDir)) {
    const builder = /\.draft-(\d+)-[0-9a-f]+$/.exec(name)?.[1];
    if (builder !== undefined && !isRunning(Number(builder))) {
      await rm(join(cacheDir, name), { recursive: true, force: true });
    }
  }
}
