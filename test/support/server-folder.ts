import { mkdirSync, mkdtempSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../tools/up/infra/environment.ts';
import { removeServerFolder } from '../../tools/up/infra/leftovers.ts';
import { livingOwner } from '../../tools/up/infra/owner.ts';

const parent = () => join(projectRoot(), '.spillway', 'test');

/** A new folder for the files of one server of a test. */
export function serverFolder(name: string): string {
  mkdirSync(parent(), { recursive: true });
  return mkdtempSync(join(parent(), `${name}-`));
}

/** Stops and removes what test runs left behind that were killed; runs that go on now are left alone. */
export async function sweepServerFolders(): Promise<void> {
  const names = await readdir(parent()).catch(() => []);
  for (const name of names) {
    const folder = join(parent(), name);
    if (await isAbandoned(folder)) await removeServerFolder(folder).catch(ignoreRace);
  }
}

/** Between making a folder and claiming it a run that goes on now has no owner there either, but not for long. */
const UNCLAIMED_GRACE_MS = 600_000;

async function isAbandoned(folder: string): Promise<boolean> {
  if (livingOwner(folder) !== undefined) return false;
  const age = await stat(folder).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  );
  return age > UNCLAIMED_GRACE_MS;
}

/** Two runs may sweep at once; what one cannot remove, the next will. */
function ignoreRace(error: unknown): void {
  console.warn(error instanceof Error ? error.message : error);
}
