import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** How the command line finds the running instance: `.spillway/instance.json`, readable by its owner only. */
export const Instance = z.object({
  url: z.string(),
  databaseUrl: z.string(),
  natsUrl: z.string().nullable(),
  keyRingFile: z.string(),
  wrapKeysFile: z.string(),
  // Absent where an older build wrote the file.
  checkpointKeysFile: z.string().optional(),
  checkpointsFile: z.string().optional(),
  deployment: z.string(),
  pid: z.int(),
});
export type Instance = z.output<typeof Instance>;

const FILE = 'instance.json';

export function writeInstance(folder: string, instance: Instance): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, FILE);
  writeFileSync(`${path}.new`, `${JSON.stringify(instance, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

/** The instance has ended cleanly: nothing should be sent where it was. */
export function removeInstance(folder: string): void {
  if (readInstance(folder)?.pid === process.pid) rmSync(join(folder, FILE), { force: true });
}

/** The instance that runs, or ran last, in a folder; null when there never was one. */
export function readInstance(folder: string): Instance | null {
  let text: string;
  try {
    text = readFileSync(join(folder, FILE), 'utf8');
  } catch {
    return null;
  }
  const parsed = Instance.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : null;
}
