import { describe } from 'vitest';
import { cloudLane } from './cloud-lane.ts';
import { laneContract } from './lane.contract.ts';
import { WORKLOAD } from './lane-under-test.ts';

describe('the runpod lane', () => {
  laneContract(
    () =>
      cloudLane({
        cloudLane: 'runpod',
        request: {
          pool: null,
          zone: null,
          machine: 'NVIDIA H100 80GB HBM3',
          gpu: { family: 'H100', product: null, count: 1 },
          maxRunS: null,
          workload: WORKLOAD,
        },
        labelsOf: ({ mark, keep }) => ({
          ...(mark === undefined
            ? {}
            : {
                SPILLWAY_DEPLOYMENT: mark.deployment,
                SPILLWAY_ALLOCATION: mark.allocation,
                SPILLWAY_INTENT: mark.intent,
              }),
          ...(keep === true ? { SPILLWAY_KEEP: '1' } : {}),
        }),
      }),
    // This provider has no word for a quota.
    ['quota'],
  );
});
