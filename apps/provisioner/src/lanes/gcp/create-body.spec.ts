import { expect, test } from 'vitest';
import { insertBody } from './create-body.ts';

const MARK = {
  name: 'sw-prod-0123456789abcdef-i',
  deployment: 'prod',
  allocation: '0123456789abcdef',
  intent: 'i',
};
const DEFAULTS = {
  image: 'img',
  network: 'net',
  zone: null,
  diskGb: 200,
  serviceAccount: null,
  queueS: 7_200,
};
const REQUEST = {
  pool: null,
  zone: 'z-a',
  machine: 'a3-highgpu-8g',
  gpu: null,
  maxRunS: null,
  workload: null,
};
const bodyOf = (more: object) => insertBody(MARK, { ...REQUEST, ...more }, 'z-a', DEFAULTS);

test('the marker stands in name, labels and metadata of the insert itself', () => {
  expect(bodyOf({})).toMatchObject({
    name: MARK.name,
    labels: {
      'spillway-deployment': 'prod',
      'spillway-allocation': '0123456789abcdef',
      'spillway-intent': 'i',
    },
    metadata: {
      items: [
        { key: 'spillway-deployment', value: 'prod' },
        { key: 'spillway-allocation', value: '0123456789abcdef' },
        { key: 'spillway-intent', value: 'i' },
        { key: 'enable-guest-attributes', value: 'TRUE' },
      ],
    },
  });
});

test('the same intent and request give the same bytes', () => {
  expect(JSON.stringify(bodyOf({ pool: 'flex-start' }))).toBe(JSON.stringify(bodyOf({ pool: 'flex-start' })));
});

test.each([
  {
    pool: 'flex-start',
    maxRunS: null,
    scheduling: {
      provisioningModel: 'FLEX_START',
      maxRunDuration: { seconds: '604800' },
      instanceTerminationAction: 'STOP',
      onHostMaintenance: 'TERMINATE',
      automaticRestart: false,
    },
  },
  {
    pool: 'preemptible',
    maxRunS: 900,
    scheduling: {
      provisioningModel: 'SPOT',
      maxRunDuration: { seconds: '900' },
      instanceTerminationAction: 'STOP',
      onHostMaintenance: 'TERMINATE',
      automaticRestart: false,
    },
  },
  {
    pool: 'on-demand',
    maxRunS: null,
    scheduling: { provisioningModel: 'STANDARD', onHostMaintenance: 'TERMINATE', automaticRestart: false },
  },
])('pool $pool is asked for as the provider wants it', ({ pool, maxRunS, scheduling }) => {
  expect(bodyOf({ pool, maxRunS }).scheduling).toEqual(scheduling);
});

test('only the queueing pool states how long it waits, and takes no reservation', () => {
  expect(bodyOf({ pool: 'flex-start' })).toMatchObject({
    params: { requestValidForDuration: { seconds: '7200' } },
    reservationAffinity: { consumeReservationType: 'NO_RESERVATION' },
  });
  expect(bodyOf({ pool: 'on-demand' })).not.toHaveProperty('params');
});

test('GPUs stand beside machines of the first generation only', () => {
  const gpu = { family: null, product: 'nvidia-tesla-t4', count: 2 };
  expect(bodyOf({ machine: 'n1-standard-8', gpu })).toMatchObject({
    guestAccelerators: [
      { acceleratorType: 'zones/z-a/acceleratorTypes/nvidia-tesla-t4', acceleratorCount: 2 },
    ],
  });
  expect(bodyOf({ gpu })).not.toHaveProperty('guestAccelerators');
});
