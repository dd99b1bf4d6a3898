import { expect, test } from 'vitest';
import { allocationStream } from '#events/streams';
import { digestOf } from '#support/builders';
import {
  DEPLOYMENT,
  foreignMachine,
  intentId,
  machine,
  openIntent,
  STREAM,
  withOpenIntent,
} from '#support/provision-builders';
import type { LaneInstance } from './lane.ts';
import { markOf, readName, shortRefOf } from './marker.ts';
import { ownershipOf } from './residue.ts';

const INTENT = intentId('a');
const owner = {
  deployment: DEPLOYMENT,
  allocation: shortRefOf(STREAM),
  intents: [openIntent(withOpenIntent(INTENT))],
};
const own = machine('P1', INTENT);
const { marker } = own;
const other = markOf(DEPLOYMENT, allocationStream(digestOf('other')), intentId('b'));

test('a machine whose unique name and whole marker say the same known intent is ours', () => {
  expect(ownershipOf(own, owner)).toEqual({ whose: 'ours', intent: owner.intents[0] });
});

test.each<[what: string, machine: LaneInstance, whose: string]>([
  ['no marker at all', foreignMachine('P9'), 'foreign'],
  [
    'pitfall 31: no marker, though it bears the display name of the run',
    foreignMachine('P9', { name: 'train-7' }),
    'foreign',
  ],
  [
    'no marker under the unique name of our intent',
    { ...own, marker: foreignMachine('P9').marker },
    'conflict',
  ],
  ['our marker under another name, as a clone of the pod has it', { ...own, name: 'train-7' }, 'conflict'],
  ['our marker without its intent', { ...own, marker: { ...marker, intent: null } }, 'conflict'],
  ['our marker without its allocation', { ...own, marker: { ...marker, allocation: null } }, 'conflict'],
  ['our marker without its deployment', { ...own, marker: { ...marker, deployment: null } }, 'conflict'],
  [
    'a marker of an intent that no log knows, under a name of its own',
    machine('P9', intentId('c'), { name: 'train-7' }),
    'conflict',
  ],
  ['the name of one intent, the marker of another', { ...machine('P9', intentId('c')), marker }, 'conflict'],
  ['name and marker of an intent that the stream does not know', machine('P9', intentId('c')), 'rewound'],
  [
    'pitfall 32: a marker of another deployment',
    { ...own, marker: { ...marker, deployment: 'live' } },
    'other_deployment',
  ],
  ['a marker of another allocation', { ...own, name: other.name, marker: other }, 'other_allocation'],
])('%s: %#', (_what, found, whose) => {
  expect(ownershipOf(found, owner).whose).toBe(whose);
});

test('a name has at most 59 characters, with the longest deployment id', () => {
  const { name } = markOf('a23456789012', STREAM, INTENT);
  expect(name).toHaveLength(59);
  expect(readName(name)).toEqual({
    deployment: 'a23456789012',
    allocation: shortRefOf(STREAM),
    intent: INTENT,
  });
});

test.each(['train-7', 'sw-test-abc', 'sw-test-0123456789abcdef-short', `${own.name}x`, `x${own.name}`])(
  '%s is no name of ours',
  (name) => {
    expect(readName(name)).toBeNull();
  },
);
