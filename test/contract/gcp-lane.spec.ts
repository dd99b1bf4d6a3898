import { describe } from 'vitest';
import { cloudLane } from './cloud-lane.ts';
import { laneContract } from './lane.contract.ts';
import { type Stranger, WORKLOAD } from './lane-under-test.ts';

describe('the gcp lane', () => {
  laneContract(
    () =>
      cloudLane({
        cloudLane: 'gcp',
        request: {
          pool: 'on-demand',
          zone: 'us-central1-a',
          machine: 'a3-highgpu-8g',
          gpu: { family: 'H100', product: null, count: 8 },
          maxRunS: null,
          workload: WORKLOAD,
        },
        cloudIdOf: (id) => id.split('/').at(-1) ?? id,
        laneIdOf: (id, name) => `us-central1-a/${name}/${id}`,
        labelsOf,
      }),
    // One 404 is no absence here: two and the listing are.
    ['not_found'],
  );
});

function labelsOf({ mark, keep }: Stranger): Readonly<Record<string, string>> {
  return {
    ...(mark === undefined
      ? {}
      : {
          'spillway-deployment': mark.deployment,
          'spillway-allocation': mark.allocation,
          'spillway-intent': mark.intent,
        }),
    ...(keep === true ? { 'spillway-keep': '' } : {}),
  };
}
