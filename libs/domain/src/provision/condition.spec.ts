import { expect, test } from 'vitest';
import { intentId, machine, probed } from '#support/provision-builders';
import { type Condition, conditionOf, type History } from './condition.ts';
import type { LaneInstance, ProbeReading } from './lane.ts';

const FRESH: History = { bootstrapBegun: false, dispatched: false };
const BEGUN: History = { bootstrapBegun: true, dispatched: false };
const SENT: History = { bootstrapBegun: true, dispatched: true };
type State = LaneInstance['state'];
type Probe = ProbeReading | 'failed' | null;

test.each<[state: State, history: History, probe: Probe, is: Condition]>([
  ['running', FRESH, probed('running'), 'running'],
  ['running', SENT, probed('running'), 'running'],
  ['running', SENT, probed('finished', 'complete', 'done'), 'finished'],
  ['running', SENT, probed('finished', 'complete', 'failed'), 'finished'],
  ['running', SENT, probed('finished', 'complete', null), 'unknown'],
  ['running', FRESH, probed('none', 'complete'), 'healthy'],
  ['running', BEGUN, probed('none', 'complete'), 'healthy'],
  ['running', SENT, probed('none', 'complete'), 'healthy'],
  ['running', FRESH, probed('none', 'not_begun'), 'healthy'],
  // The log says that the bootstrap began: never resumed, whatever the machine says.
  ['running', BEGUN, probed('none', 'not_begun'), 'residue'],
  ['running', BEGUN, probed('none', 'begun'), 'residue'],
  ['running', FRESH, probed('none', 'begun'), 'residue'],
  // A dispatch was recorded: it may have run.
  ['running', SENT, probed('none', 'begun'), 'unreadable'],
  ['running', SENT, probed('none', 'not_begun'), 'unreadable'],
  ['running', FRESH, probed('unknown'), 'unknown'],
  ['running', FRESH, probed('none', 'unknown'), 'unknown'],
  ['running', FRESH, 'failed', 'unknown'],
  ['running', SENT, null, 'unknown'],
  // Still starting: nothing can have been sent to it, so nothing has to be asked.
  ['provisioning', FRESH, null, 'healthy'],
  ['queued', FRESH, null, 'healthy'],
  ['provisioning', BEGUN, null, 'residue'],
  ['provisioning', SENT, 'failed', 'unknown'],
  ['terminated', FRESH, null, 'residue'],
  ['terminated', BEGUN, 'failed', 'residue'],
  ['terminated', SENT, probed('finished', 'complete', 'failed'), 'finished'],
  ['terminated', SENT, probed('unknown'), 'unreadable'],
  ['terminated', SENT, 'failed', 'unknown'],
])('%s, %o, probe %o: %s', (state, history, probe, is) => {
  expect(conditionOf(machine('P1', intentId('a'), { state }), history, probe)).toBe(is);
});
