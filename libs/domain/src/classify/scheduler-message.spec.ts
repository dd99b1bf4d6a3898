import { expect, test } from 'vitest';
import { quotaDenial, schedulerVerdict } from './scheduler-message.ts';

const nodes = (reasons: string) => schedulerVerdict(`0/9 nodes are available: ${reasons}`);

test.each([
  'nvidia.com/gpu',
  'nvidia.com/gpumem',
  'nvidia.com/gpu.shared',
  'nvidia.com/mig-1g.10gb',
  'amd.com/gpu',
  'gpu.intel.com/i915',
])('a short %s is a GPU shortage, also beside other reasons', (resource) => {
  expect(nodes(`9 insufficient ${resource}.`)).toBe('gpu');
  expect(nodes(`2 insufficient cpu, 7 insufficient ${resource}. no new claims to deallocate`)).toBe('gpu');
});

test.each([
  ['9 insufficient cpu.', 'CPU.'],
  ['9 insufficient ephemeral-storage.', 'Disk.'],
  ['9 insufficient rdma/rdma_shared_device_a.', 'Another device plugin.'],
  ['9 too many pods.', 'Pods.'],
  ["9 node(s) didn't have free ports for the requested pod ports.", 'Ports.'],
  ["9 node(s) didn't match pod affinity rules.", 'Affinity to another pod.'],
  ["9 node(s) didn't match pod anti-affinity rules.", 'Anti-affinity.'],
  ['9 node(s) had untolerated taint {nvidia.com/gpu: present}.', 'A taint, although it names a GPU.'],
  ['9 node(s) were unschedulable.', 'Cordoned nodes.'],
  [
    "4 insufficient cpu, 5 node(s) didn't match pod's node affinity/selector.",
    'Affinity is not the only reason.',
  ],
])('%s does not count', (reasons, _reason) => {
  expect(nodes(reasons)).toBe('other');
});

test('only node affinity is a product that no node has', () => {
  expect(nodes("9 node(s) didn't match pod's node affinity/selector.")).toBe('product');
  expect(nodes("9 node(s) didn't match node selector.")).toBe('product');
});

test('what follows "preemption:" is not the reason', () => {
  expect(
    nodes('9 insufficient memory. preemption: 0/9 nodes are available: 9 insufficient nvidia.com/gpu.'),
  ).toBe('other');
});

test('the older wording is read too', () => {
  const head = 'no nodes are available that match all of the following predicates:: ';
  expect(
    schedulerVerdict(`${head}insufficient cpu (9), insufficient nvidia.com/gpu (3), matchnodeselector (18).`),
  ).toBe('gpu');
});

test('other text has no verdict', () => {
  expect(schedulerVerdict('no capacity')).toBeUndefined();
  expect(quotaDenial('quota exceeded')).toBeUndefined();
});

const denial = (requested: string, used: string, limited: string) =>
  quotaDenial(
    `pods "x" is forbidden: exceeded quota: gpu-quota, requested: ${requested}, used: ${used}, limited: ${limited}`,
  );

test('a quota denial counts when the exceeded resource is a GPU', () => {
  expect(denial('requests.nvidia.com/gpu=8', 'requests.nvidia.com/gpu=4', 'requests.nvidia.com/gpu=8')).toBe(
    'gpu',
  );
  expect(denial('limits.memory=512gi', 'limits.memory=1ti', 'limits.memory=1ti')).toBe('other');
  expect(
    denial(
      'pods=1,requests.nvidia.com/gpu=1',
      'pods=50,requests.nvidia.com/gpu=1',
      'pods=50,requests.nvidia.com/gpu=8',
    ),
  ).toBe('other');
});
