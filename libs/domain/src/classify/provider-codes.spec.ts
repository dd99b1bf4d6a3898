import { expect, test } from 'vitest';
import { neverCountCode } from './never-count-codes.ts';
import { compactCode } from './normalise.ts';
import { PROVIDER_CODES, providerCode } from './provider-codes.ts';

const codes = PROVIDER_CODES.flatMap((row) => row.codes);

test('no code stands in two rows, however it is spelled', () => {
  const forms = codes.map(compactCode);
  expect(forms.filter((form, index) => forms.indexOf(form) !== index)).toEqual([]);
});

test('no placement code is one that never counts', () => {
  expect(codes.filter((code) => neverCountCode([compactCode(code)]) !== undefined)).toEqual([]);
});

test('every row is found by each of its codes and says why', () => {
  for (const row of PROVIDER_CODES) {
    expect(row.reason).toMatch(/^[A-Z].*\.$/);
    for (const code of row.codes) expect(providerCode(compactCode(code.replace('*', 'X')))?.known).toBe(row);
  }
});

test('a star stands for a beginning or an end', () => {
  expect(providerCode('qosmaxgresperuser')?.code).toBe('QOSMaxGRES*');
  expect(providerCode('resourceoperationrateexceeded')?.code).toBe('*_RATE_EXCEEDED');
  expect(providerCode('ipspaceexhaustedwithdetails')?.code).toBe('IP_SPACE_EXHAUSTED*');
});
