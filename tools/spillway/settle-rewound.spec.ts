import { beforeEach, describe, expect, test } from 'vitest';
import type { Command } from '#domain/log';
import { releaseRewound } from '#domain/provision/rewound';
import { InMemoryLog } from '#event-log/in-memory-log';
import { LogRewound } from '#events/provision.events';
import { allocationStream } from '#events/streams';
import { at, digestOf, idOf } from '#support/builders';
import { type RewoundLog, settleRewound } from './settle-rewound.ts';

const stream = allocationStream(digestOf('ref'));

let log: InMemoryLog;
let commands = 0;
beforeEach(async () => {
  log = new InMemoryLog({ logId: 'log', now: () => 0 });
  await rewind('P7');
});

async function rewind(instance: string): Promise<void> {
  commands += 1;
  const event = LogRewound.create({ instance, lane: 'runpod', intent: idOf(instance) });
  await log.append([
    {
      commandId: `c${commands}`,
      digest: digestOf(`c${commands}`),
      stream,
      expected: 'any',
      occurredAt: at(0),
      events: [{ event, meta: { causedBy: null, saw: 0 } }],
    },
  ]);
}
const release = (on: RewoundLog = log) =>
  settleRewound(on, {
    stream,
    at: at(0),
    decide: ({ placement }) => releaseRewound(placement, { instance: null, by: 'local' }),
  });
const recorded = async () => (await log.readAfter(0, 10)).map(({ type }) => type);
/** The log, with something else done before the append. */
const doingFirst = (first: () => Promise<unknown>): RewoundLog => ({
  readStream: (...range) => log.readStream(...range),
  append: async (all: readonly Command[]) => {
    await first();
    return log.append(all);
  },
});

describe('what a person decides about a rewound log', () => {
  test('is recorded once', async () => {
    expect(await release()).toMatchObject({ kind: 'recorded', position: 2, machine: { instance: 'P7' } });
    expect(await release()).toMatchObject({ kind: 'refused', why: 'nothing_rewound' });
    expect(await recorded()).toEqual(['LogRewound', 'RewindReleased']);
  });
  test('is decided again on what was recorded meanwhile', async () => {
    let left = 1;
    const overtaken = doingFirst(async () => {
      if (left > 0) await rewind('P8');
      left -= 1;
    });
    expect(await release(overtaken)).toMatchObject({ kind: 'recorded', machine: { instance: 'P8' } });
    expect(await recorded()).toEqual(['LogRewound', 'LogRewound', 'RewindReleased']);
  });
  test('is found again when its answer was lost', async () => {
    const cut: RewoundLog = {
      readStream: (...range) => log.readStream(...range),
      append: async (all) => {
        await log.append(all);
        throw new Error('cut');
      },
    };
    await expect(release(cut)).rejects.toThrow('cut');
    expect(await release()).toMatchObject({ kind: 'refused', why: 'nothing_rewound' });
    expect(await recorded()).toEqual(['LogRewound', 'RewindReleased']);
  });
  test('gives up on an allocation that never holds still, and records nothing', async () => {
    let serial = 0;
    const never = doingFirst(() => {
      serial += 1;
      return rewind(`Q${serial}`);
    });
    await expect(release(never)).rejects.toThrow('nothing was recorded');
    expect(await recorded()).not.toContain('RewindReleased');
  });
});
