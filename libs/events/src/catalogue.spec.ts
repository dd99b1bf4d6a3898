import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CATALOGUE, definitionOf, isEventType } from './catalogue.ts';
import { type EventDefinition, STAGES } from './define-event.ts';

const definitions: readonly EventDefinition[] = Object.values(CATALOGUE);

/** Past participles that do not end in -ed. */
const IRREGULAR = ['Begun', 'Found', 'Given', 'Gone', 'Held', 'Kept', 'Known', 'Left', 'Lost', 'Made', 'Met'];
const MORE_IRREGULAR = ['Put', 'Seen', 'Sent', 'Set', 'Shown', 'Spent', 'Stolen', 'Taken', 'Told', 'Undone'];
const STILL_MORE = ['Done', 'Reset', 'Rewound'];

/** Why an event is not named after something that is over. */
const NOT_PAST: Readonly<Record<string, string>> = {
  CancelSending: 'Recorded just before the call: that it will be sent is what happened.',
  CreateSending: 'Recorded just before the call: that it will be sent is what happened.',
  DispatchSending: 'Recorded just before the call: that it will be sent is what happened.',
  DeliveredPoolDiffers: 'A difference that stands until a person ends it.',
};

/** Why an event that no process handles is there all the same. */
const READ_BY_PEOPLE: Readonly<Record<string, string>> = {
  ErasureRequested: 'An erasure that was cut off is seen by it; the apps hear of the erasure itself.',
  ParkedRequeued: 'Consumers see the mark on the parked row; the event tells auditors who let it go.',
  ParkedSkipped: 'Consumers see the mark on the parked row; the event tells auditors what was passed over.',
  ConsentAnswered: 'The consent app decides the answer in the command that records it; auditors read it.',
  LaunchRequested: 'Ingest takes the launch in the command that records it; auditors read it.',
};

/**
 * A fact of a placement may wake nobody: whoever acts on the allocation folds its stream, and passes find it by
 * its row in the table (failover 9.1).
 */
const PLACEMENT_STAGES: readonly string[] = ['watch', 'intent', 'provision', 'dispatch'];

describe('catalogue', () => {
  test('names each event once, by its own name', () => {
    expect(Object.entries(CATALOGUE).map(([name, { type }]) => [name, type])).toEqual(
      definitions.map(({ type }) => [type, type]),
    );
  });
  test('knows its own events and nothing else', () => {
    expect(definitionOf('AttemptReported')).toBe(CATALOGUE.AttemptReported);
    for (const name of ['attemptReported', 'toString', '__proto__', '']) {
      expect(isEventType(name)).toBe(false);
      expect(definitionOf(name)).toBeNull();
    }
  });
});

describe.each(definitions)('$type', (definition) => {
  test('is named in the past tense', () => {
    const lastWord = definition.type.match(/[A-Z][a-z]+$/)?.[0] ?? '';
    const irregular = [...IRREGULAR, ...MORE_IRREGULAR, ...STILL_MORE];
    const isPast = lastWord.endsWith('ed') || irregular.includes(lastWord);
    expect(isPast || NOT_PAST[definition.type] !== undefined, `${definition.type} says what happened`).toBe(
      true,
    );
  });
  test('has a version from 1', () => {
    expect(definition.version).toBeGreaterThanOrEqual(1);
    expect(Number.isInteger(definition.version)).toBe(true);
  });
  test('says who writes it and who reads it', () => {
    expect(definition.writtenBy).not.toEqual([]);
    const isRead = READ_BY_PEOPLE[definition.type] === undefined;
    const wakesNobody =
      isRead && definition.role === 'decision' && PLACEMENT_STAGES.includes(definition.stage);
    if (!wakesNobody) expect(definition.consumedBy.length > 0).toBe(isRead);
    expect(new Set(definition.consumedBy).size).toBe(definition.consumedBy.length);
  });
  test('is created as what it declares', () => {
    const { type, version, role } = definition;
    expect(definition.create({ any: 1 })).toEqual({ type, version, role, data: { any: 1 } });
  });
});

describe('event files', () => {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.events.ts'));
  const stageOf = (file: string) => file.replace('.events.ts', '');

  test('are named after stages', () => {
    expect(STAGES).toEqual(expect.arrayContaining(files.map(stageOf)));
  });
  test('define every event of the catalogue, each in the file of its stage', async () => {
    const found = await Promise.all(
      files.map(async (file) => {
        const module: Record<string, unknown> = await import(`./${stageOf(file)}.events.ts`);
        const defined = definitions.filter(({ type }) => module[type] !== undefined);
        expect(defined.map(({ stage }) => stage)).toEqual(defined.map(() => stageOf(file)));
        expect(defined.map(({ type }) => module[type])).toEqual(defined);
        return defined.map(({ type }) => type);
      }),
    );
    expect(found.flat().sort()).toEqual(Object.keys(CATALOGUE).sort());
  });
});
