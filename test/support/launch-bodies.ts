import { laneDirectory, STAND_IN_LANES } from '#domain/provision/lane-directory';
import { type LaunchBody, launchBody } from '#domain/provision/launch-body';

export const LANES = laneDirectory(STAND_IN_LANES);

/** An ordinary launch: a queueing rung, an on-demand rung and a terminal entry. */
export const LAUNCH_BODY = {
  logical_allocation: 'team/train-7',
  plan: {
    rungs: [
      { id: 'flex_a', lane: 'gcp', pool: 'flex-start' },
      { id: 'od_a', lane: 'gcp', pool: 'on-demand' },
    ],
    terminal: { lane: 'runpod' },
  },
  workload: { command: 'run' },
  failover: 'standing',
} as const;

/** The ordinary launch with some members replaced, parsed. */
export function launchOf(change: object = {}): LaunchBody {
  return launchBody({ lanes: LANES }).parse({ ...LAUNCH_BODY, ...change });
}

/** An ordinary poll of an instance that runs. */
export const OBSERVATION_BODY = {
  logical_allocation: 'team/train-7',
  instance: 'X1',
  lane: 'gcp',
  observed_at: '2026-01-05T00:10:00Z',
  provider: 'running',
} as const;
