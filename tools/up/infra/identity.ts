import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type Identity, runCommand } from './chain.ts';

/**
 * The account a database server runs under: undefined for an ordinary user (as we are); for root the
 * `postgres` user or else `nobody`, because PostgreSQL refuses to run as root.
 */
export function serverIdentity(): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = accounts.find((fields) => fields[0] === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  }
  return { name: 'uid 65534', uid: 65_534, gid: 65_534 };
}

/** Whether the account can enter the folder. Asked of the system: modes alone do not tell (ACLs, mounts). */
export async function canEnter(folder: string, as: Identity | undefined): Promise<boolean> {
  const { ok } = await runCommand('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { as, timeoutMs: 5_000 });
  return ok;
}

/** A folder for temporary files that the account can enter. */
export async function reachableTmpdir(as: Identity | undefined): Promise<string> {
  for (const folder of [tmpdir(), '/var/tmp', '/tmp']) {
    if (await canEnter(folder, as)) return folder;
  }
  throw new Error(`No temporary folder can be entered by ${as?.name ?? 'this user'}: set TMPDIR.`);
}
