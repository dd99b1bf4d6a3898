import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runCommand } from '../../tools/up/infra/chain.ts';

/** A browser to run, or the sentence that says why there is none. */
export type Chromium = { readonly path: string } | { readonly missing: string };

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const UPDATE_BOUND_MS = 90_000;
/** Some 100 MB with what it needs. */
const INSTALL_BOUND_MS = 240_000;

/**
 * SPILLWAY_CHROMIUM: the browser to use, or `none`. Else the first of the machine; else, as root on Debian, that of
 * the distribution is installed, as a machine of CI has it.
 */
export async function findChromium(): Promise<Chromium> {
  const given = process.env.SPILLWAY_CHROMIUM;
  if (given === 'none') return { missing: 'SPILLWAY_CHROMIUM is none' };
  if (given !== undefined) {
    return existsSync(given) ? { path: given } : { missing: 'SPILLWAY_CHROMIUM names no file that is there' };
  }
  return installed() ?? (await fromDistribution());
}

function installed(): Chromium | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  const files = NAMES.flatMap((name) => folders.filter(Boolean).map((folder) => join(folder, name)));
  const path = files.find((file) => existsSync(file));
  return path === undefined ? null : { path };
}

async function fromDistribution(): Promise<Chromium> {
  if (process.getuid?.() !== 0) return { missing: 'no chromium is installed, and only root may install one' };
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  // An update that fails for one unrelated source has fetched the lists of the others: the install tells.
  await runCommand('apt-get', ['-q', 'update'], { timeoutMs: UPDATE_BOUND_MS, env });
  const { ok, complaint } = await runCommand(
    'apt-get',
    ['-q', 'install', '-y', '--no-install-recommends', 'chromium', 'fonts-dejavu-core'],
    { timeoutMs: INSTALL_BOUND_MS, env },
  );
  const found = installed();
  if (ok && found !== null) return found;
  return { missing: `no chromium is installed, and apt-get gives none: ${complaint.split('\n').at(-1)}` };
}
