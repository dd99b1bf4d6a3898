import { describe } from 'vitest';
import { cloudLane } from './cloud-lane.ts';
import { laneContract } from './lane.contract.ts';
import { type Stranger, WORKLOAD } from './lane-under-test.ts';

describe('the kubernetes lane', () => {
  laneContract(
    () =>
      cloudLane({
        cloudLane: 'kubernetes',
        request: {
          pool: 'batch',
          zone: null,
          machine: null,
          gpu: { family: 'H100', product: null, count: 8 },
          maxRunS: 3_600,
          workload: WORKLOAD,
        },
        cloudIdOf: (id) => id.split('/').at(-1) ?? id,
        laneIdOf: (id, name) => `${name}/${id}`,
        labelsOf,
      }),
    // A create succeeds before there is room: no room is a pod that waits.
    ['capacity'],
  );
});

function labelsOf({ mark, keep }: Stranger): Readonly<Record<string, string>> {
  return {
    ...(mark === undefined
      ? {}
      : {
          'spillway/deployment': mark.deployment,
          'spillway/allocation': mark.allocation,
          'spillway/intent': mark.intent,
        }),
    ...(keep === true ? { 'spillway/keep': '' } : {}),
  };
}
