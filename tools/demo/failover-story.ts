import type { KillPoint } from '../../apps/provisioner/src/parts.ts';
import type { CloudClient } from '../../test/cloud/cloud-client.ts';
import type { LedgerInstance, LedgerReport } from '../../test/cloud/ledger-report.ts';
import type { RunningApps } from '../up/apps.ts';
import { waitUntil } from '../up/infra/chain.ts';
import type { Calls, LaunchResult } from './calls.ts';
import { goneNow, launchOf } from './failover-bodies.ts';
import {
  decisionLines,
  ledgerLines,
  sentLaunchLines,
  sentObservationLine,
  takenLine,
  worldLines,
} from './failover-lines.ts';
import { refusalLines } from './lines.ts';
import { type Stage, StoryBroken } from './stage.ts';

/** Whatever is waited for beside the lease: a few seconds, on a busy machine more. */
const SOON_MS = 60_000;
const LOOK_MS = 250;
/** A lease runs so long (failover 1), and a pass comes by every second. */
const LEASE_S = 60;
const TAKEN_OVER_BOUND_S = 140;
/** The machine is bought and the log does not know it yet: nothing worse can happen to a worker. */
const WORST_MOMENT: KillPoint = 'created_unrecorded';

/** Where the story is played: the product, and the cloud that the story moves. */
export interface FailoverPlace {
  readonly stage: Stage;
  readonly calls: Pick<Calls, 'launch' | 'launchResult' | 'observation'>;
  readonly apps: Pick<RunningApps, 'startProvisioner' | 'startDoomed'>;
  readonly cloud: CloudClient;
  /** False = no worker is killed, which saves the minute that its lease takes to run out. */
  readonly kills: boolean;
  readonly now: () => string;
  /** Types of the events of the launched allocation so far. */
  readonly recorded: (position: number) => Promise<readonly string[]>;
  /** Waits for something that is due after so many seconds, and shows how far it is. */
  readonly wait: (
    what: string,
    dueS: number,
    boundS: number,
    isOver: () => Promise<boolean>,
  ) => Promise<void>;
}

/** Plays the story and gives the position of its launch. */
export async function tellFailover(place: FailoverPlace, run: string): Promise<number> {
  const name = `${run}/train-7`;
  const colleagues = await place.cloud.addForeign({ lane: 'runpod', name });
  const worker = place.kills
    ? await place.apps.startDoomed(WORST_MOMENT)
    : await place.apps.startProvisioner();
  const ended = place.kills ? worker.untilEnded(SOON_MS * 2) : null;
  // Whoever waits for it hears why it failed; until then the story may fail first.
  ended?.catch(() => undefined);
  const launched = await queued(place, name);
  await vanished(place, launched, ended);
  if (place.kills) await takenOver(place, launched);
  await moved(place, launched, colleagues);
  return launched.position;
}

interface Launched {
  readonly name: string;
  readonly position: number;
  readonly location: string;
  /** The instance that waits in the queue. */
  readonly instance: string;
}

async function queued(place: FailoverPlace, name: string): Promise<Launched> {
  const { stage, calls, cloud } = place;
  stage.chapter(
    'A launch, and a place in the queue',
    `${name} wants one H100. The cheapest way is a pool in which a create succeeds before there is capacity. ` +
      'A colleague has made a machine of the very same name on the last lane by hand.',
  );
  await cloud.behave({ lane: 'gcp', queueS: null });
  const sent = launchOf(name);
  stage.show(['', ...sentLaunchLines(sent, stage.colours)]);
  const reply = await calls.launch(sent);
  if (reply.kind === 'refused') {
    stage.show(refusalLines(reply.body, stage.colours));
    throw new StoryBroken(`the launch was refused with ${reply.status}`);
  }
  stage.show([takenLine(reply.body, stage.colours)]);
  const { location, position } = reply.body;
  const result = await resultWhere(place, location, 'placed_primary');
  const instance = result.instance?.id;
  if (instance === undefined) throw new StoryBroken('a placement came without its instance');
  const own = ours(await cloud.ledger());
  stage.claim('one create was sent, and the instance waits in the provider’s queue', own.map(whatItIs), [
    'gcp queued',
  ]);
  // The watcher has to see it once, or its end would be proven by its age alone.
  await waitUntil(
    'the instance is seen in the queue',
    SOON_MS,
    async () => {
      return (await place.recorded(position)).includes('ObservationJudged');
    },
    LOOK_MS,
  );
  await stage.pause();
  return { name, position, location, instance };
}

async function vanished(
  place: FailoverPlace,
  { position, location, instance }: Launched,
  ended: Promise<string> | null,
): Promise<void> {
  const { stage, cloud, kills } = place;
  stage.chapter(
    kills ? 'It vanishes, and the worker dies at the worst moment' : 'It vanishes',
    'An instance that never ran and is gone from the queue is a capacity miss on first sight: the one move to the ' +
      'last lane is decided, under a typed reason.',
  );
  stage.show(worldLines('The provider drops the request, without a word to anybody.', stage.colours));
  await cloud.change(instance.split('/').at(-1) ?? instance, { remove: 'provider' });
  if (ended === null) return;

  const how = await ended;
  stage.show(
    worldLines(
      'The provisioner sends the create. The machine exists and bills; before the answer is recorded, the ' +
        `process is killed (${how}).`,
      stage.colours,
    ),
  );
  const result = await place.calls.launchResult(location);
  if (result === null) throw new StoryBroken('a decision is gone');
  stage.show(['', ...decisionLines(result, stage.colours)]);
  stage.claim('the move is decided, under its reason', [result.outcome, result.reason], ['waiting', REASON]);
  const types = await place.recorded(position);
  stage.claim(
    'the log knows that a create was to be sent, and nothing more',
    [types.includes('CreateSending'), types.slice(types.lastIndexOf('CreateSending') + 1).filter(isOfCreate)],
    [true, []],
  );
  const own = ours(await cloud.ledger());
  stage.claim(
    'the cloud has a machine that nobody remembers',
    own.filter(({ goneAt }) => goneAt === null).map(({ lane, billing }) => [lane, billing]),
    [['runpod', true]],
  );
  await stage.pause();
}

async function takenOver(place: FailoverPlace, launched: Launched): Promise<void> {
  const { stage, calls, apps, cloud } = place;
  const { name, location, instance } = launched;
  stage.chapter(
    'A minute in which nobody may act',
    `The dead worker's lease on the intent runs for ${LEASE_S} s: its call might still land. Meanwhile others try.`,
  );
  const again = launchOf(name);
  stage.show(['', ...sentLaunchLines(again, stage.colours)]);
  const refused = await calls.launch(again);
  if (refused.kind === 'refused') stage.show(refusalLines(refused.body, stage.colours));
  stage.claim('a second launch meets the same stream and is refused', refused.status, 409);

  const poll = goneNow(name, instance, place.now());
  stage.show(['', sentObservationLine(poll, stage.colours)]);
  const seen = await calls.observation(poll);
  if (seen.kind === 'answered') stage.show(decisionLines(seen.body, stage.colours));
  const outcome = seen.kind === 'answered' ? seen.body.outcome : seen.status;
  stage.claim('one more poller that finds it gone moves nothing', outcome, 'unchanged');

  await apps.startProvisioner();
  stage.show(
    worldLines('A fresh provisioner starts. It has read the log, and waits like everybody.', stage.colours),
  );
  await place.wait('the lease of the dead worker runs out', LEASE_S, TAKEN_OVER_BOUND_S, async () => {
    return (await calls.launchResult(location))?.outcome === 'running_on_terminal';
  });
  const bought = ours(await cloud.ledger()).filter(({ lane }) => lane === 'runpod');
  stage.claim('it bought no second machine', bought.length, 1);
}

async function moved(place: FailoverPlace, launched: Launched, colleagues: string): Promise<void> {
  const { stage, cloud, kills } = place;
  stage.chapter(
    'Moved once',
    kills
      ? 'It found the machine by its marker (name, deployment, allocation and intent agree), took it over, prepared ' +
          'it and started the workload, under the reason that was recorded first.'
      : 'The intent is recorded, then the create is sent with it, then the machine is prepared and the workload started.',
  );
  stage.show(['']);
  const result = await resultWhere(place, launched.location, 'running_on_terminal');
  const ledger = await cloud.ledger();
  stage.show(['', ...ledgerLines(ledger, isOurs, stage.colours)]);
  const own = ours(ledger);
  const bought = own.filter(({ lane }) => lane === 'runpod');
  const starts = ledger.starts.filter(({ instance }) => own.some(({ id }) => id === instance));
  stage.claim('bought: 1 machine, 1 workload start', [bought.length, starts.length], [1, 1]);
  stage.claim('it is the one that answers for the allocation', result.instance?.id, bought[0]?.id);
  stage.claim('the reason is the one that was recorded first', result.reason, REASON);
  const other = ledger.instances.find(({ id }) => id === colleagues);
  stage.claim('the machine of the colleague is untouched', [other?.state, other?.goneAt], ['running', null]);
  const types = await place.recorded(launched.position);
  stage.claim(
    kills ? 'adopted, not made again; the rung was counted once' : 'the rung was counted once',
    ['InstanceAdopted', 'CreateSending', 'RungCounted'].map(
      (type) => types.filter((one) => one === type).length,
    ),
    [kills ? 1 : 0, 2, 1],
  );
  await stage.pause();
}

const REASON = 'gcp_queue_vanish_failover_runpod';

/** What is recorded of a create once it has been sent. */
function isOfCreate(type: string): boolean {
  return ['InstanceCreated', 'InstanceAdopted', 'CreateEnded', 'LateInstanceSeen'].includes(type);
}

/** The result of a launch once it has this outcome, shown. */
async function resultWhere(place: FailoverPlace, location: string, outcome: string): Promise<LaunchResult> {
  let result: LaunchResult | null = null;
  await waitUntil(
    `the launch is ${outcome}`,
    SOON_MS,
    async () => {
      result = await place.calls.launchResult(location);
      return result?.outcome === outcome;
    },
    LOOK_MS,
  );
  if (result === null) throw new StoryBroken('a decision is gone');
  place.stage.show(decisionLines(result, place.stage.colours));
  return result;
}

const whatItIs = ({ lane, state }: LedgerInstance) => `${lane} ${state}`;

/** The cloud is that of this story alone: what carries a marker is Spillway's. */
function ours({ instances }: LedgerReport): readonly LedgerInstance[] {
  return instances.filter(isOurs);
}

function isOurs({ mark }: LedgerInstance): boolean {
  return mark.intent !== null;
}
