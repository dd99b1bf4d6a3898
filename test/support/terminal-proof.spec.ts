import { describe, expect, test } from 'vitest';
import type { Fact } from '#domain/fact';
import { canonicalJson } from '#events/canonical-json';
import type { RecordedEvent } from '#events/envelope';
import { allocationStream } from '#events/streams';
import { digestOf, idOf } from './builders.ts';
import { createEnded, createSending, intentId, intentRecorded } from './provision-builders.ts';
import { recordedRow } from './recorded.ts';
import { terminalFaults } from './terminal-proof.ts';
import { gone, poll, Story, verdictOf } from './watch-builders.ts';

const INTENT = intentId('a');

/** The rows of a story, each a command of its own, with more facts behind it. */
function rowsOf(story: Story, ...more: readonly Fact[]): readonly RecordedEvent[] {
  return [...story.facts, ...more].map(({ type, data }, index) =>
    recordedRow({
      pos: index + 1,
      stream: allocationStream(digestOf('ref')),
      streamVersion: index + 1,
      decisionVersion: index + 1,
      eventId: idOf(`row ${index}`),
      type,
      role: 'decision',
      body: canonicalJson(data),
    }),
  );
}

const vanished = (failover: 'standing' | 'ask' | 'never') => {
  const story = new Story().launch(failover).placed(0);
  story.see(poll(60, 'queued'), gone(300));
  return story;
};
const terminal = intentRecorded(INTENT);
const sending = createSending(INTENT, 310);
const blocked: Fact = {
  type: 'AllocationBlocked',
  data: { reason: 'terminal_request_rejected', verdict: verdictOf('blocked') },
};

describe('nothing reaches the terminal lane but by a typed escalation', () => {
  test('proven: decided under standing consent, then recorded and sent', () => {
    expect(terminalFaults(rowsOf(vanished('standing'), terminal, sending))).toEqual([]);
  });

  test('an intent without a decided move', () => {
    expect(terminalFaults(rowsOf(vanished('ask'), terminal))).toEqual([
      expect.stringContaining('is of the terminal lane, and no move is decided'),
    ]);
    expect(terminalFaults(rowsOf(vanished('never'), terminal))).toHaveLength(1);
  });

  test('a create after the move was blocked', () => {
    const faults = terminalFaults(rowsOf(vanished('standing'), terminal, blocked, sending));
    expect(faults).toEqual([expect.stringContaining('no move is decided any more')]);
  });

  test.each([
    { reason: 'under ask, nobody accepted', failover: 'ask' as const, consent: 'standing' },
    { reason: 'the accepted question is another one', failover: 'ask' as const, consent: idOf('other') },
    { reason: 'the owner said never', failover: 'never' as const, consent: 'standing' },
  ])('a move without consent: $reason', ({ failover, consent }) => {
    const [decided] = vanished('standing').facts.filter(({ type }) => type === 'FailoverDecided');
    if (decided?.type !== 'FailoverDecided') throw new Error('the story decides a move');
    const forged: Fact = { ...decided, data: { ...decided.data, consent } };
    expect(terminalFaults(rowsOf(vanished(failover), forged, terminal))).toEqual([
      expect.stringContaining('rests on a consent that nobody gave'),
    ]);
  });

  test('a move without a typed reason', () => {
    const [decided] = vanished('standing').facts.filter(({ type }) => type === 'FailoverDecided');
    if (decided?.type !== 'FailoverDecided') throw new Error('the story decides a move');
    const { escalation } = decided.data;
    const forged: Fact = {
      ...decided,
      data: { ...decided.data, escalation: { ...escalation, reason: 'because' } },
    };
    expect(terminalFaults(rowsOf(new Story().launch('standing'), forged))).toEqual([
      expect.stringContaining('has no typed reason'),
    ]);
  });

  test('creates of rungs are no business of it', () => {
    const rung = intentRecorded(INTENT, { kind: 'rung', rung: 'od_a', zone: null });
    const ended = createEnded(INTENT, 320, 'capacity');
    expect(terminalFaults(rowsOf(new Story().launch('never'), rung, sending, ended))).toEqual([]);
  });
});
