import { rm } from 'node:fs/promises';
import type { Log } from './chain.ts';
import { dockerAnswers, removeVolume } from './docker.ts';
import { stopLeftoverNats } from './nats-local.ts';
import { livingOwner } from './owner.ts';
import { existingData, existingPlace } from './postgres-cluster.ts';
import { stopLeftover } from './postgres-local.ts';

/**
 * Stops what a killed process left running over this folder and deletes the folder, with the data
 * that was moved elsewhere for it. Rejects while the folder's owner is alive.
 */
export async function removeServerFolder(folder: string, log: Log = () => {}): Promise<void> {
  const owner = livingOwner(folder);
  if (owner !== undefined && owner !== process.pid) {
    throw new Error(`${folder} is in use by process ${owner}: it is not deleted.`);
  }
  const place = existingPlace(folder);
  await stopLeftover(place, log);
  await stopLeftoverNats(folder, log);
  const data = existingData(folder);
  if (data?.in === 'volume' && (await dockerAnswers())) await removeVolume(data.volume);
  await rm(place.home, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
}
