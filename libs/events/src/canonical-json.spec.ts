import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, contentDigest, NotJson } from './canonical-json.ts';

describe('canonical JSON', () => {
  test('sorts members by UTF-16 code units and keeps numbers in their shortest form', () => {
    expect(canonicalJson({ b: 1, a: [1.1, 1e21, -0], '\u{1f600}': true, '\ufb33': null })).toBe(
      '{"a":[1.1,1e+21,0],"b":1,"\u{1f600}":true,"\ufb33":null}',
    );
  });

  test('any two spellings of one JSON value have one text, and it parses back to the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.each([
    ['undefined would be dropped', { a: undefined }],
    ['undefined in an array would become null', [undefined]],
    ['a hole in an array would become null', new Array(1)],
    ['NaN would become null', [Number.NaN]],
    ['Infinity would become null', { a: Number.POSITIVE_INFINITY }],
    ['half of a surrogate pair is no Unicode text', 'a\ud83d'],
    ['half of a surrogate pair in a name', { 'a\ude00': 1 }],
    ['a big integer has no JSON form', 1n],
    ['a date would become text', new Date(0)],
    ['a map would become {}', new Map()],
    ['nothing at all', undefined],
  ])('refuses: %s', (_reason, value) => {
    expect(() => canonicalJson(value)).toThrow(NotJson);
  });

  test('tells the place but never the value', () => {
    expect(() => canonicalJson({ outer: { secret: 'x\ud800' } })).toThrow(/"\/outer\/secret"/);
    expect(() => canonicalJson({ secret: 'hush\ud800' })).not.toThrow(/hush/);
  });
});

describe('content digest', () => {
  const event = { type: 'Seen', version: 1, role: 'input', data: { b: 1, a: 2 } } as const;

  test('does not depend on the order of members', () => {
    expect(contentDigest([event])).toBe(contentDigest([{ ...event, data: { a: 2, b: 1 } }]));
  });
  test('differs by type, version, body and number of events', () => {
    const digests = [
      contentDigest([event]),
      contentDigest([{ ...event, type: 'Heard' }]),
      contentDigest([{ ...event, version: 2 }]),
      contentDigest([{ ...event, data: { b: 1, a: 3 } }]),
      contentDigest([event, event]),
      contentDigest([]),
    ];
    expect(new Set(digests).size).toBe(digests.length);
  });
});
