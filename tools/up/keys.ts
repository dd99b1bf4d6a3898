import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface KeyFiles {
  readonly keyRing: string;
  readonly wrapKeys: string;
  /** Of who signs checkpoints and exports: no app is given it. */
  readonly checkpointKeys: string;
}

/** The instance's keys, made once and kept in files that only their owner reads. */
export function keyFiles(folder: string): KeyFiles {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    keyRing: keyFile(folder, 'key-ring'),
    wrapKeys: keyFile(folder, 'wrap-keys'),
    checkpointKeys: keyFile(folder, 'checkpoint-keys'),
  };
}

function keyFile(folder: string, name: string): string {
  const path = join(folder, name);
  if (!existsSync(path)) writeFileSync(path, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  return path;
}
