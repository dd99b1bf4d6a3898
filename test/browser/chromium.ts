import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A browser to run, with what its process needs; or the sentence that says why there is none. */
export type Chromium =
  | { readonly path: string; readonly env: Readonly<Record<string, string>> }
  | { readonly missing: string };

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** SPILLWAY_CHROMIUM: the browser to use; else the first of the machine. */
export async function findChromium(): Promise<Chromium> {
  const given = process.env.SPILLWAY_CHROMIUM;
  if (given !== undefined) {
    return existsSync(given)
      ? { path: given, env: {} }
      : { missing: 'SPILLWAY_CHROMIUM names no file that is there' };
  }
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin'];
  for (const name of NAMES) {
    const folder = folders.find((each) => each !== '' && existsSync(join(each, name)));
    if (folder !== undefined) return { path: join(folder, name), env: {} };
  }
  return { missing: 'no chromium' };
}
