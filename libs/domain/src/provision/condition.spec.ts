import { expect, test } from 'vitest';
import { at } from '#support/builders';
import {
  instanceCreated,
  intentId,
  machine,
  openIntent,
  probed,
  withOpenIntent,
} from '#support/provision-builders';
import { type Condition, conditionOf, type History, historyOf } from './condition.ts';
import type { LaneInstance, ProbeReading } from './lane.ts';

const FRESH: History = { bootstrapBegun: false, dispatched: false, reaping: false };
const BEGUN: History = { ...FRESH, bootstrapBegun: true };
const SENT: History = { ...BEGUN, dispatched: true };
const REAPING: History = { ...BEGUN, reaping: true };
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
  // Its end may be on its way: what is built on it now would be ended with it.
  ['running', REAPING, probed('none', 'complete'), 'residue'],
  ['running', { ...FRESH, reaping: true }, probed('none', 'complete'), 'residue'],
  ['provisioning', { ...FRESH, reaping: true }, null, 'residue'],
  ['running', REAPING, 'failed', 'unknown'],
  // It came to work all the same: it is taken as it is.
  ['running', REAPING, probed('running'), 'running'],
  ['running', { ...SENT, reaping: true }, probed('none', 'complete'), 'healthy'],
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

test('what was sent under an intent counts for every machine that carries it, until another one answers for it', () => {
  const intent = intentId('a');
  const story = withOpenIntent(intent)
    .add(301, instanceCreated(intent))
    .add(302, { type: 'BootstrapBegun', data: { intent, instance: 'P1', begunAt: at(302) } })
    .add(303, { type: 'DispatchSending', data: { intent, instance: 'P1', number: 1 } });
  const of = (id: string) => {
    const [carried] = story.placement.intents;
    if (carried === undefined) throw new Error('there is one intent');
    return historyOf({ machine: machine(id, intent), intent: carried }, story.placement.intents);
  };
  expect(openIntent(story).intent).toBe(intent);
  expect([of('P1'), of('P2')]).toEqual([SENT, SENT]);
  story.add(304, { type: 'IntentClosed', data: { intent, why: 'blocked' } });
  expect([of('P1'), of('P2')]).toEqual([SENT, FRESH]);
});
