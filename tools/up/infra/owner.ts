import { accessSync, constants, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspectProcess } from './processes.ts';

export interface Ownership {
  release(): void;
}

/**
 * Claims a folder for this process, so that two processes never run servers over the same files and
 * a server whose owner was killed is known as a leftover. Rejects while the owner is alive. Two
 * claims at the very same moment over a dead owner can both pass: the server's own lock decides then.
 */
export function claimFolder(folder: string): Ownership {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new Error(
      `${folder} cannot be written by this user: start as its owner, or choose another folder.`,
      {
        cause,
      },
    );
  }
  const owner = livingOwner(folder);
  if (owner !== undefined) {
    throw new Error(
      `${folder} is in use by process ${owner}: stop that process first, or choose another folder.`,
    );
  }
  const file = ownerFile(folder);
  rmSync(file, { force: true });
  writeFileSync(file, `${process.pid} ${inspectProcess(process.pid)?.startedAt ?? ''}\n`, { flag: 'wx' });
  return { release: () => rmSync(file, { force: true }) };
}

/** The process that claimed the folder and still runs, if any. */
export function livingOwner(folder: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(ownerFile(folder), 'utf8').trim();
  } catch {
    return undefined;
  }
  const pid = Number.parseInt(text, 10);
  const startedAt = text.slice(text.indexOf(' ') + 1);
  return inspectProcess(pid)?.startedAt === startedAt ? pid : undefined;
}

function ownerFile(folder: string): string {
  return join(folder, 'owner');
}
