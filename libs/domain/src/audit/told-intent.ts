import type { DataOfType } from '#events/catalogue';
import type { Entry, Escalation } from '#events/intent.events';
import { actor, type EventOf, machine, moment, shortened, type Told, teller } from './told.ts';

type IntentEvent = EventOf<
  | 'FailoverDecided'
  | 'FailoverPrompted'
  | 'FailoverAccepted'
  | 'FailoverDeclined'
  | 'FailoverVoided'
  | 'CancelDecided'
  | 'IntentRecorded'
  | 'LeaseTaken'
  | 'IntentClosed'
>;

const spillway = teller('spillway');
const consent = teller('consent');
const provisioner = teller('provisioner');

/** The move to the terminal lane and the promises to create, in plain words. */
export function toldOfIntent(event: IntentEvent): Told {
  switch (event.type) {
    case 'FailoverDecided': {
      const { escalation, consent: given } = event.data;
      const agreed =
        given === 'standing' ? 'the owner agreed beforehand' : `question ${shortened(given)} was accepted`;
      return spillway(`decided the move to the terminal lane: ${escalation.reason}; ${agreed}`);
    }
    case 'FailoverPrompted': {
      const { escalation, expiresAt, withdrew } = event.data;
      const question = `question ${shortened(event.row.eventId)}, open until ${moment(expiresAt)}`;
      const instead = withdrew === null ? '' : `; pool question ${shortened(withdrew)} is withdrawn`;
      return spillway(
        `asked whether it may move to the terminal lane: ${escalation.reason} (${question})${instead}`,
      );
    }
    case 'FailoverAccepted':
      return consent(
        `recorded the yes of ${actor(event.data.answeredBy)} to question ${shortened(event.data.questionId)}: the move may be made until ${moment(event.data.expiresAt)}`,
      );
    case 'FailoverDeclined':
      return consent(
        `recorded the no of ${actor(event.data.answeredBy)} to question ${shortened(event.data.questionId)}: the move is not made`,
      );
    case 'FailoverVoided':
      return spillway(`called the move off: ${VOIDED[event.data.why]}${ofInstance(event.data.instance)}`);
    case 'CancelDecided':
      return spillway(
        `decided to cancel ${failedOf(event.data.escalation)} and then to stop: ${event.data.escalation.reason} may not be made`,
      );
    case 'IntentRecorded': {
      const { intent, name, lane, entry, replaces } = event.data;
      const instead = replaces === null ? '' : `, in place of ${shortened(replaces)}`;
      return provisioner(
        `opened intent ${shortened(intent)}: ${name} for ${entryText(entry)} on lane ${lane}${instead}`,
      );
    }
    case 'LeaseTaken':
      return provisioner(
        `took over open intent ${shortened(event.data.intent)} with fence ${event.data.fence}`,
      );
    case 'IntentClosed':
      return provisioner(`closed intent ${shortened(event.data.intent)}: ${event.data.why}`);
  }
}

const VOIDED: Readonly<Record<DataOfType<'FailoverVoided'>['why'], string>> = {
  running: 'the instance has begun to run and stays',
  reachable: 'the instance is reachable again and stays',
  done: 'the workload ended well meanwhile',
  adopted: 'an operator took over a machine that a restored log had forgotten',
};

function failedOf({ failedInstance }: Escalation): string {
  return failedInstance === null ? 'what is left' : machine(failedInstance);
}

function ofInstance(instance: string | null): string {
  return instance === null ? '' : ` (${machine(instance)})`;
}

function entryText(entry: Entry): string {
  if (entry.kind === 'terminal') return 'the terminal entry';
  return entry.zone === null ? `rung ${entry.rung}` : `rung ${entry.rung} in zone ${entry.zone}`;
}
