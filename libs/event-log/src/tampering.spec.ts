import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type RecordedEvent, slotOf, ZERO_HASH } from '#events/envelope';
import { seeded } from '#support/seeded';
import { hashOf } from './chain.ts';
import { type TamperedSource, tamperingOf } from './tampering.ts';
import { verifyLog } from './verify.ts';

const LOG = 'log-1';
const ROWS = 12;
const STREAMS = 3;

/** Three streams in turn; every second row of one is a decision. Each says something else. */
function soundLog(): readonly RecordedEvent[] {
  const versions = Array.from({ length: STREAMS }, () => ({ stream: 0, decision: 0 }));
  const rows: RecordedEvent[] = [];
  for (let pos = 1; pos <= ROWS; pos += 1) {
    const version = versions[pos % STREAMS];
    if (version === undefined) throw new Error('no such stream');
    version.stream += 1;
    const role = version.stream % 2 === 0 ? 'decision' : 'input';
    if (role === 'decision') version.decision += 1;
    const stream = `allocation-${pos % STREAMS}`;
    const row = {
      pos,
      stream,
      streamVersion: version.stream,
      decisionVersion: version.decision,
      eventId: `event-${pos}`,
      commandId: `command-${pos}`,
      commandIndex: 0,
      commandDigest: 'd'.repeat(64),
      type: 'Seen',
      schemaVersion: 1,
      role,
      slot: slotOf(stream),
      occurredAt: `2026-11-29T10:00:00.${String(pos).padStart(3, '0')}Z`,
      recordedAt: `2026-11-29T10:00:01.${String(pos).padStart(3, '0')}Z`,
      body: `{"note":"row ${pos}"}`,
      meta: '{"causedBy":null,"saw":null}',
      format: 1,
      prevHash: rows.at(-1)?.hash ?? ZERO_HASH,
    } as const;
    rows.push({ ...row, hash: hashOf(LOG, row) });
  }
  return rows;
}

const sourceOf = (rows: readonly RecordedEvent[]): TamperedSource => ({
  logId: async () => LOG,
  readStream: async (stream, version, limit) =>
    rows.filter((row) => row.stream === stream && row.streamVersion > version).slice(0, limit),
  async *rowsFrom(pos) {
    yield* rows.filter((row) => row.pos >= pos);
  },
  hasWholeStreams: true,
});

/** Verifies and says what fits, as `audit verify` does; the head was signed. */
async function found(rows: readonly RecordedEvent[]) {
  const sorted = rows.toSorted((one, other) => one.pos - other.pos);
  const last = sorted.at(-1);
  const source = sourceOf(sorted);
  const signed = soundLog().at(-1);
  const verified = await verifyLog(
    {
      ...source,
      head: async () => ({ pos: last?.pos ?? 0, hash: last?.hash ?? ZERO_HASH }),
      at: async (pos) => sorted.find((row) => row.pos === pos) ?? null,
      readAfter: async (pos, limit) => sorted.filter((row) => row.pos > pos).slice(0, limit),
    },
    { pageSize: 5, checkpoints: new Map(signed === undefined ? [] : [[signed.pos, signed.hash]]) },
  );
  if (verified.ok) return { ok: true };
  const { fits, from, to } = await tamperingOf(source, verified);
  return { pos: verified.pos, kind: verified.kind, fits, from, to };
}

const position = fc.integer({ min: 1, max: ROWS });
const inside = fc.integer({ min: 2, max: ROWS - STREAMS });

function property<One, Other>(
  arbitraries: readonly [fc.Arbitrary<One>, fc.Arbitrary<Other>],
  holds: (one: One, other: Other) => Promise<void>,
): Promise<void> {
  return fc.assert(fc.asyncProperty(...arbitraries, holds), seeded(60));
}

describe('what was done to a log', () => {
  test('nothing is nothing', async () => {
    expect(await found(soundLog())).toEqual({ ok: true });
  });

  const EDITS: readonly ((row: RecordedEvent) => Partial<RecordedEvent>)[] = [
    () => ({ body: '{"note":"other"}' }),
    () => ({ meta: '{}' }),
    ({ stream }) => ({ stream: `${stream}0` }),
    ({ streamVersion }) => ({ streamVersion: streamVersion + 1 }),
    ({ role }) => ({ role: role === 'input' ? 'decision' : 'input' }),
    () => ({ occurredAt: '2026-11-29T09:00:00.000Z' }),
    () => ({ recordedAt: '2026-11-29T09:00:00.000Z' }),
    () => ({ eventId: 'another' }),
    () => ({ commandDigest: 'e'.repeat(64) }),
    () => ({ hash: 'f'.repeat(64) }),
  ];

  test('an edit of any member of any row is found at that row', async () => {
    for (const [edit, change] of EDITS.entries()) {
      for (let pos = 1; pos <= ROWS; pos += 1) {
        const rows = soundLog().map((row) => (row.pos === pos ? { ...row, ...change(row) } : row));
        expect({ edit, ...(await found(rows)) }).toEqual({
          edit,
          pos,
          kind: 'hash',
          fits: 'edit',
          from: pos,
          to: pos,
        });
      }
    }
  });

  test('an edit with a hash of its own breaks the chain at the next row, or the signature at the last', () =>
    property([position, fc.constant(null)], async (pos) => {
      const rows = soundLog().map((row) => {
        if (row.pos !== pos) return row;
        const changed = { ...row, body: '{"note":"other"}' };
        return { ...changed, hash: hashOf(LOG, changed) };
      });
      const next = { pos: pos + 1, kind: 'prev_hash', fits: 'edit', from: pos, to: pos };
      // The last row has nothing behind it that would say which of two was changed.
      if (pos === ROWS - 1) expect(await found(rows)).toEqual({ ...next, to: ROWS });
      else if (pos < ROWS) expect(await found(rows)).toEqual(next);
      else {
        expect(await found(rows)).toEqual({
          ...{ pos, kind: 'checkpoint', fits: 'rewritten_chain', from: 1, to: pos },
        });
      }
    }));

  test('rows that were deleted out of going streams are missing', () =>
    property([inside, fc.integer({ min: 1, max: STREAMS })], async (from, count) => {
      const to = from + count - 1;
      const rows = soundLog().filter(({ pos }) => pos < from || pos > to);
      expect(await found(rows)).toEqual({ pos: from, kind: 'gap', fits: 'delete', from, to });
    }));

  test('rows that were deleted before the rest was renumbered are named all the same', () =>
    property([position, fc.integer({ min: 1, max: 4 })], async (from, count) => {
      const to = Math.min(from + count - 1, ROWS);
      const by = to - from + 1;
      const rows = soundLog()
        .filter(({ pos }) => pos < from || pos > to)
        .map((row) => (row.pos > to ? { ...row, pos: row.pos - by } : row));
      expect(await found(rows)).toEqual(
        to === ROWS
          ? { pos: from, kind: 'tail', fits: 'cut_tail', from, to: from }
          : { pos: from, kind: 'hash', fits: 'delete', from, to },
      );
    }));

  test('a row that was put in is named, whether or not its own hash holds', () =>
    property([fc.integer({ min: 1, max: ROWS - 1 }), fc.boolean()], async (after, holds) => {
      const sound = soundLog();
      const model = sound[after - 1];
      if (model === undefined) throw new Error('no such row');
      const put = {
        ...model,
        pos: after + 1,
        stream: 'allocation-put-in',
        streamVersion: 1,
        decisionVersion: 0,
        role: 'input' as const,
        eventId: 'put-in',
        prevHash: model.hash,
      };
      const rows = sound.map((row) => (row.pos > after ? { ...row, pos: row.pos + 1 } : row));
      const at = after + 1;
      const isSigned = holds && at === ROWS;
      expect(await found([...rows, holds ? { ...put, hash: hashOf(LOG, put) } : put])).toEqual({
        pos: holds && !isSigned ? at + 1 : at,
        kind: isSigned ? 'checkpoint' : 'hash',
        fits: 'insert',
        from: at,
        to: at,
      });
    }));

  test('two rows that were exchanged are both named', () =>
    property([position, position], async (one, other) => {
      fc.pre(one < other);
      const rows = soundLog().map((row) => {
        if (row.pos === one) return { ...row, pos: other };
        return row.pos === other ? { ...row, pos: one } : row;
      });
      expect(await found(rows)).toEqual({ pos: one, kind: 'hash', fits: 'swap', from: one, to: other });
    }));

  test('what two rows say, exchanged, is a swap and not two edits', () =>
    property([position, position], async (one, other) => {
      fc.pre(one < other);
      const sound = soundLog();
      const bodyAt = (pos: number) => sound[pos - 1]?.body ?? '';
      const rows = sound.map((row) => {
        if (row.pos === one) return { ...row, body: bodyAt(other) };
        return row.pos === other ? { ...row, body: bodyAt(one) } : row;
      });
      expect(await found(rows)).toEqual({ pos: one, kind: 'hash', fits: 'swap', from: one, to: other });
    }));

  test('the end of a log that was cut is behind what was signed', () =>
    property([position, fc.constant(null)], async (from) => {
      const rows = soundLog().filter(({ pos }) => pos < from);
      expect(await found(rows)).toEqual({ pos: from, kind: 'tail', fits: 'cut_tail', from, to: from });
    }));

  test('all of a stream leaves no hole in another', async () => {
    for (let stream = 0; stream < STREAMS; stream += 1) {
      const rows = soundLog().filter((row) => row.stream !== `allocation-${stream}`);
      const first = stream === 0 ? STREAMS : stream;
      expect(await found(rows)).toMatchObject({
        pos: first,
        kind: 'gap',
        fits: 'removed_stream',
        from: first,
      });
    }
  });

  test('a chain that was made anew from any row on is not the one that was signed', () =>
    property([position, fc.constant(null)], async (from) => {
      let prevHash = soundLog()[from - 2]?.hash ?? ZERO_HASH;
      const rows = soundLog().map((row) => {
        if (row.pos < from) return row;
        const changed = { ...row, prevHash, ...(row.pos === from ? { body: '{"note":"other"}' } : {}) };
        prevHash = hashOf(LOG, changed);
        return { ...changed, hash: prevHash };
      });
      expect(await found(rows)).toEqual({
        pos: ROWS,
        kind: 'checkpoint',
        fits: 'rewritten_chain',
        from: 1,
        to: ROWS,
      });
    }));
});
