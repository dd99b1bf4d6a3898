import type { DataOfType } from '#events/catalogue';
import type { Miss } from '#events/provision.events';
import { actor, type EventOf, machine, shortened, type Told, teller } from './told.ts';

type ProvisionEvent = EventOf<
  | 'LaunchRequested'
  | 'LaunchAccepted'
  | 'WalkStarted'
  | 'RungCounted'
  | 'RungSkipped'
  | 'ZoneMissed'
  | 'RungMissed'
  | 'InstancePlaced'
  | 'DeliveredPoolDiffers'
  | 'DeliveredPoolAccepted'
  | 'DeliveredPoolReleased'
  | 'PoolMoveStarted'
  | 'PoolMoveNotProvisioned'
>;

const spillway = teller('spillway');
const provisioner = teller('provisioner');

/** The launch and the ladder, in plain words. */
export function toldOfProvision(event: ProvisionEvent): Told {
  switch (event.type) {
    case 'LaunchRequested': {
      const { plan, requestedBy } = event.data;
      const terminal = plan.terminal === null ? 'no terminal lane' : `terminal lane ${plan.terminal.lane}`;
      const rungs = plan.rungs.map(({ id }) => id).join(', ');
      return {
        who: actor(requestedBy),
        what: `asked for a launch: rungs ${rungs}; ${terminal}; consent to failover: ${plan.failover}`,
      };
    }
    case 'LaunchAccepted':
      return { who: 'ingest', what: `took the launch ${shortened(event.data.launch)}` };
    case 'WalkStarted': {
      const { walk, rungs } = event.data;
      const which = rungs.length === 0 ? 'no rung is left' : `rungs ${rungs.join(', ')}`;
      return spillway(`began to walk the ladder: ${WALKS[walk]}; ${which}`);
    }
    case 'RungCounted':
      return provisioner(
        `counted create ${event.data.count} of ${event.data.day} before sending it, on rung ${event.data.rung}`,
      );
    case 'RungSkipped':
      return provisioner(`passed over rung ${event.data.rung}: ${SKIPS[event.data.why]}`);
    case 'ZoneMissed':
      return provisioner(`was refused: ${missText(event.data)}`);
    case 'RungMissed':
      return spillway(`missed rung ${event.data.rung}: ${event.data.misses.map(missText).join('; ')}`);
    case 'InstancePlaced': {
      const { instance, lane, rung, pool } = event.data;
      return provisioner(
        `placed it: instance ${machine(instance)} on lane ${lane}, rung ${rung}, pool ${pool ?? 'unknown'}`,
      );
    }
    case 'DeliveredPoolDiffers': {
      const { instance, consented, delivered } = event.data;
      return provisioner(
        `got ${machine(instance)} in pool ${delivered ?? 'unknown'} where ${consented} was agreed to: nothing is started, a person decides`,
      );
    }
    case 'DeliveredPoolAccepted': {
      const { instance, lane, pool, acceptedBy } = event.data;
      return {
        who: 'operator',
        what: `took ${machine(instance)} on lane ${lane} in pool ${pool ?? 'unknown'} as it was delivered (${actor(acceptedBy)}): it is the instance now`,
      };
    }
    case 'DeliveredPoolReleased':
      return {
        who: 'operator',
        what: `did not take ${machine(event.data.instance)} on lane ${event.data.lane} as it was delivered (${actor(event.data.releasedBy)}): it is theirs to end`,
      };
    case 'PoolMoveStarted':
      return provisioner(
        `began the move to preemptible capacity that question ${shortened(event.data.prompt)} allowed: rung ${event.data.rung.id}`,
      );
    case 'PoolMoveNotProvisioned':
      return provisioner(
        `provisions nothing for question ${shortened(event.data.prompt)}: ${POOL_MOVE[event.data.why]}`,
      );
  }
}

const WALKS: Readonly<Record<DataOfType<'WalkStarted'>['walk'], string>> = {
  launch: 'the launch',
  create_failed: 'a create failed in the end',
  on_demand: 'the terminal lane had no room',
  retry: 'the capacity-retry pass tries again',
  pool_move: 'the pool move by consent',
};

const SKIPS: Readonly<Record<DataOfType<'RungSkipped'>['why'], string>> = {
  queue_loss: 'it lost an instance in its queue today',
  boot_loop: 'its machines died at boot today',
  creates_per_day: 'the creates of today are used up',
  quota: 'its quota is known to be short',
};

const POOL_MOVE: Readonly<Record<DataOfType<'PoolMoveNotProvisioned'>['why'], string>> = {
  no_launch: 'it was never launched here, so whoever reported it places it',
  no_rung: 'the plan has no rung to move',
  other_request: 'the launch was for another request',
  running: 'an instance runs already',
};

function missText({ rung, zone, kind, code }: Miss): string {
  const where = zone === null ? rung : `${rung} in zone ${zone}`;
  return `${where}, ${kind}${code === null ? '' : ` (${code})`}`;
}
