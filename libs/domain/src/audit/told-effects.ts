import { actor, type EventOf, machine, moment, shortened, type Told, teller } from './told.ts';

type EffectEvent = EventOf<
  | 'CancelSending'
  | 'CancelConfirmed'
  | 'CancelUnconfirmed'
  | 'CreateSending'
  | 'CreateEnded'
  | 'InstanceCreated'
  | 'InstanceAdopted'
  | 'LateInstanceSeen'
  | 'InstanceGone'
  | 'ForeignInstanceSeen'
  | 'ReapAnnounced'
  | 'ResidueReaped'
  | 'ReapFailed'
  | 'LogRewound'
  | 'RewindReleased'
  | 'RewoundAdopted'
  | 'BootstrapBegun'
  | 'DispatchSending'
  | 'WorkloadDispatched'
  | 'FailoverCompleted'
>;

const provisioner = teller('provisioner');

/** What was sent to a provider and what came of it, in plain words. */
export function toldOfEffect(event: EffectEvent): Told {
  switch (event.type) {
    case 'CancelSending':
      return provisioner(
        `announced the cancel of ${machine(event.data.instance)} on lane ${event.data.lane}`,
      );
    case 'CancelConfirmed':
      return provisioner(`saw that ${machine(event.data.instance)} is cancelled and gone`);
    case 'CancelUnconfirmed': {
      const { instance, lane, kind } = event.data;
      const why = kind === null ? '' : ` (${kind})`;
      return provisioner(
        `could not confirm the cancel of ${machine(instance)} on lane ${lane}${why}: it is owed`,
      );
    }
    case 'CreateSending': {
      const { intent, number, sendNotAfter } = event.data;
      return provisioner(
        `announced create ${number} of intent ${shortened(intent)}, sent by ${moment(sendNotAfter)} or never`,
      );
    }
    case 'CreateEnded': {
      const { intent, answer, code, notBefore } = event.data;
      const text = code === null ? answer : `${answer} (${code})`;
      const pause = notBefore === null ? '' : `; nothing is sent again before ${moment(notBefore)}`;
      return provisioner(`heard the end of the create of intent ${shortened(intent)}: ${text}${pause}`);
    }
    case 'InstanceCreated':
      return provisioner(
        `created ${machine(event.data.instance)} for intent ${shortened(event.data.intent)}`,
      );
    case 'InstanceAdopted':
      return provisioner(
        `took over ${machine(event.data.instance)}, which carries intent ${shortened(event.data.intent)} and was not known`,
      );
    case 'LateInstanceSeen':
      return provisioner(
        `learnt late of ${machine(event.data.instance)}, made for intent ${shortened(event.data.intent)}: its worker had lost the lease`,
      );
    case 'InstanceGone':
      return provisioner(
        `saw that ${machine(event.data.instance)} on lane ${event.data.lane} is gone: it bills nothing any more`,
      );
    case 'ForeignInstanceSeen':
      return provisioner(
        `saw ${machine(event.data.instance)} on lane ${event.data.lane}, which is not ours: it is never touched`,
      );
    case 'ReapAnnounced':
      return provisioner(
        `announced that residue ${machine(event.data.instance)} on lane ${event.data.lane} will be ended: number ${event.data.number} of its chain`,
      );
    case 'ResidueReaped':
      return provisioner(`saw that residue ${machine(event.data.instance)} is gone`);
    case 'ReapFailed': {
      const { instance, kind } = event.data;
      return provisioner(`could not end residue ${machine(instance)}${kind === null ? '' : ` (${kind})`}`);
    }
    case 'LogRewound':
      return provisioner(
        `found ${machine(event.data.instance)} on lane ${event.data.lane} with an intent of ours that the log does not know: the log was restored, and nothing is created`,
      );
    case 'RewindReleased':
      return {
        who: 'operator',
        what: `dealt with ${machine(event.data.instance)} (${actor(event.data.releasedBy)}): creates may go on`,
      };
    case 'RewoundAdopted': {
      const { instance, lane, intent, adoptedBy, leaves } = event.data;
      const left = leaves === null ? '' : `; the cancel of ${machine(leaves.instance)} is owed`;
      return {
        who: 'operator',
        what: `took over ${machine(instance)} on lane ${lane}, which carries forgotten intent ${shortened(intent)} (${actor(adoptedBy)}): it does the work now${left}`,
      };
    }
    case 'BootstrapBegun':
      return provisioner(`began to prepare ${machine(event.data.instance)}`);
    case 'DispatchSending':
      return provisioner(
        `announced start ${event.data.number} of the workload on ${machine(event.data.instance)}: from now on it may have run`,
      );
    case 'WorkloadDispatched':
      return provisioner(`saw the workload run on ${machine(event.data.instance)}`);
    case 'FailoverCompleted':
      return provisioner(
        `completed the move: ${machine(event.data.instance)} on lane ${event.data.lane} does the work now`,
      );
  }
}
