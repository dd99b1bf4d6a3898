import { expect, test } from 'vitest';
import { idOf } from '#support/builders';
import { keyRing } from './key-ring.ts';
import { inputOfLocation, locationOf, RESULTS_PATH } from './location.ts';

const OLD = { id: 'k1', bytes: new Uint8Array(32).fill(1) };
const NEW = { id: 'k2', bytes: new Uint8Array(32).fill(2) };
const ring = keyRing([OLD]);
const opaqueOf = (location: string) => location.slice(RESULTS_PATH.length + 1);
const opaque = opaqueOf(locationOf(idOf('input'), ring));

test('a location that was given out leads back to its input', () => {
  expect(inputOfLocation(opaque, ring)).toBe(idOf('input'));
});

test('also after a rotation of the key', () => {
  expect(inputOfLocation(opaque, keyRing([NEW, OLD]))).toBe(idOf('input'));
  expect(inputOfLocation(opaque, keyRing([NEW]))).toBeNull();
});

test.each([
  { reason: 'an event id alone', text: idOf('input') },
  { reason: 'another event id with the proof', text: `${idOf('other')}${opaque.slice(26)}` },
  { reason: 'a proof that differs in its last character', text: `${opaque.slice(0, -1)}x` },
  { reason: 'nothing', text: '' },
  { reason: 'something longer', text: `${opaque}0` },
  { reason: 'characters of several bytes', text: '\u{1f600}'.repeat(29) },
])('$reason is no location', ({ text }) => {
  expect(inputOfLocation(text, ring)).toBeNull();
});
