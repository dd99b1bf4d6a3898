import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '../..');

/** A file with something forbidden (or expressly allowed) in it. */
export interface Planted {
  readonly path: string;
  readonly text: string;
}

/** Writes files into a new folder that has the project's settings (`copied`) but none of its code. */
export function plantTree(files: readonly Planted[], copied: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), 'planted-'));
  const settings = copied.map((path) => ({ path, text: readFileSync(join(PROJECT, path), 'utf8') }));
  for (const { path, text } of [...settings, ...files]) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return root;
}
