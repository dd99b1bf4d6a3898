import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { removeServerFolder } from '../up/infra/leftovers.ts';
import { livingOwner } from '../up/infra/owner.ts';
import { type Instance, readInstance } from '../up/instance.ts';
import { type Stack, type StackOptions, startStack } from '../up/stack.ts';

export interface DemoStack extends Pick<Stack, 'apps' | 'cloud'> {
  readonly url: string;
  readonly databaseUrl: string;
  /** As the command line finds it, with what is signed of its log. */
  readonly signed: Instance | null;
  /** Stops everything and deletes its files, once; true when every app ended cleanly. */
  stop(): Promise<boolean>;
}

const PREFIX = 'demo-';
/** What the infrastructure claims below the folder of a stack. */
const SERVERS = ['postgres', 'nats'] as const;
/** A stack that starts now has no owner for a moment. */
const UNCLAIMED_GRACE_MS = 600_000;

/** A whole Spillway in a temporary folder below `parent`, for one telling of the story. */
export async function startOwnStack(
  parent: string,
  options: Pick<StackOptions, 'log' | 'env' | 'provisioners'> & {
    readonly onUnexpectedExit: (what: string) => void;
  },
): Promise<DemoStack> {
  mkdirSync(parent, { recursive: true });
  await sweepAbandoned(parent);
  const folder = mkdtempSync(join(parent, PREFIX));
  // Under root PostgreSQL runs as another user, who has to get through; what is secret below is closed by itself.
  chmodSync(folder, 0o755);
  try {
    const { onUnexpectedExit, ...rest } = options;
    const stack = await startStack({
      ...rest,
      folder,
      onUnexpectedExit: (app, how) => onUnexpectedExit(`${app} ended with ${how}`),
    });
    const stop = async () => {
      const clean = await stack.stop();
      await remove(folder);
      return clean;
    };
    let stopping: Promise<boolean> | null = null;
    return {
      url: stack.apps.url,
      apps: stack.apps,
      cloud: stack.cloud,
      databaseUrl: stack.adminUrl,
      signed: readInstance(folder),
      stop: () => {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    await remove(folder);
    throw error;
  }
}

async function remove(folder: string): Promise<void> {
  for (const server of SERVERS) await removeServerFolder(join(folder, server));
  rmSync(folder, { recursive: true, force: true });
}

/** Stops and removes what tellings left behind that were killed. Those that go on now are left alone. */
async function sweepAbandoned(parent: string): Promise<void> {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(PREFIX))) {
    const folder = join(parent, name);
    const owned = SERVERS.some((server) => livingOwner(join(folder, server)) !== undefined);
    if (owned || Date.now() - statSync(folder).mtimeMs < UNCLAIMED_GRACE_MS) continue;
    // Another user's folder cannot be removed by this one, and need not be.
    await remove(folder).catch(() => undefined);
  }
}
