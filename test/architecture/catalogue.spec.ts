import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { canonicalJson } from '#events/canonical-json';
import { CATALOGUE, definitionOf } from '#events/catalogue';
import { readEvent, readMeta } from '#events/upcast';
import { recordedRow } from '#support/recorded';

const GOLDEN = join(import.meta.dirname, '..', 'golden');

/** What a golden file keeps of the row: `body` and `meta` are the stored text, byte for byte. */
const Golden = z.strictObject({
  type: z.string(),
  schemaVersion: z.int().positive(),
  role: z.enum(['input', 'decision']),
  body: z.string(),
  meta: z.string(),
});

const versions = Object.values(CATALOGUE).flatMap((definition) =>
  Array.from({ length: definition.version }, (_, index) => `${definition.type}.v${index + 1}.json`),
);

test('every version of every event that was ever written has a golden file, and no other file is there', () => {
  expect(readdirSync(GOLDEN).sort()).toEqual([...versions].sort());
});

describe.each(versions)('%s', (file) => {
  const golden = Golden.parse(JSON.parse(readFileSync(join(GOLDEN, file), 'utf8')));
  const row = recordedRow(golden);
  const definition = definitionOf(golden.type);
  const isNewest = golden.schemaVersion === definition?.version;

  test('is of the event, version and role that its name and the catalogue say', () => {
    expect(`${golden.type}.v${golden.schemaVersion}.json`).toBe(file);
    expect(definition?.role).toBe(golden.role);
  });
  test('is canonical text', () => {
    expect(canonicalJson(JSON.parse(golden.body))).toBe(golden.body);
    expect(canonicalJson(readMeta(row))).toBe(golden.meta);
  });
  test('can still be read', () => {
    expect(readEvent(row).type).toBe(golden.type);
  });
  test.runIf(isNewest)('is written again as the same bytes', () => {
    expect(canonicalJson(readEvent(row).data)).toBe(golden.body);
  });
  test.runIf(isNewest)('is refused with a member more or less at any level: none is optional', () => {
    const variants = objectsOf(JSON.parse(golden.body)).flatMap(({ value, replacedBy }) => [
      replacedBy({ ...value, also: 1 }),
      ...Object.keys(value).map((name) => replacedBy(without(value, name))),
    ]);
    for (const variant of variants) {
      expect(() => readEvent({ ...row, body: canonicalJson(variant) })).toThrow(/^body:/);
    }
  });
});

interface ObjectInside {
  readonly value: object;
  /** The whole again, with another object in this place. */
  readonly replacedBy: (other: object) => unknown;
}

/** Facts by name, of whatever rule: the one place where a member more or less is no other form. */
const OPEN_MEMBER = 'evidence';

/** Every object of a fixed form in a value, the value itself first. */
function objectsOf(
  whole: unknown,
  replacedBy: ObjectInside['replacedBy'] = (other) => other,
): readonly ObjectInside[] {
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return [];
  const inside = Object.entries(whole)
    .filter(([name]) => name !== OPEN_MEMBER)
    .flatMap(([name, member]) => objectsOf(member, (other) => replacedBy({ ...whole, [name]: other })));
  return [{ value: whole, replacedBy }, ...inside];
}

function without(value: object, name: string): object {
  return Object.fromEntries(Object.entries(value).filter(([other]) => other !== name));
}
