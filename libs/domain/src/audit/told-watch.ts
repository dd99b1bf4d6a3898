import type { InstanceFacts, Observation, Verdict } from '#events/watch.events';
import { actor, type EventOf, machine, moment, type Told, teller } from './told.ts';

type WatchEvent = EventOf<
  | 'ObservationReported'
  | 'ObservationJudged'
  | 'BootDeathRecorded'
  | 'BootStreakReset'
  | 'WedgeAlarmRecorded'
  | 'QueueLossRecorded'
  | 'AlertRaised'
  | 'AllocationBlocked'
  | 'AllocationDone'
>;

const classifier = teller('classifier');
const spillway = teller('spillway');

/** What was seen of an instance, and what it means, in plain words. */
export function toldOfWatch(event: WatchEvent): Told {
  switch (event.type) {
    case 'ObservationReported': {
      const { observation, reportedBy } = event.data;
      return {
        who: actor(reportedBy),
        what: `saw instance ${machine(observation.instance)}: ${seen(observation)}`,
      };
    }
    case 'ObservationJudged': {
      const { instance, verdict, facts } = event.data;
      return classifier(`judged what was seen of ${machine(instance)}: ${answer(verdict)}${known(facts)}`);
    }
    case 'BootDeathRecorded': {
      const { instance, rung, streak, day } = event.data;
      return classifier(
        `counted the death of ${machine(instance)} before its workload began: ${streak} in a row on rung ${rung} on ${day}`,
      );
    }
    case 'BootStreakReset':
      return classifier(
        `ended the row of boot deaths on rung ${event.data.rung}: the workload of ${machine(event.data.instance)} ran`,
      );
    case 'WedgeAlarmRecorded': {
      const { instance, arm, count, since } = event.data;
      const what = arm === 'transport' ? 'cannot be reached' : 'is silent long after its time';
      return classifier(
        `counted alarm ${count} in a row since ${moment(since)}: ${machine(instance)} ${what}`,
      );
    }
    case 'QueueLossRecorded':
      return classifier(
        `recorded that rung ${event.data.rung} lost ${machine(event.data.instance)} in its queue: not booked again on ${event.data.day}`,
      );
    case 'AlertRaised':
      return spillway(`raised the alert ${event.data.alert} about ${machine(event.data.subject)}`);
    case 'AllocationBlocked':
      return spillway(`blocked the allocation: ${event.data.reason}${redrive(event.data.verdict)}`);
    case 'AllocationDone':
      return spillway(
        `took the allocation as done: the workload on ${machine(event.data.instance)} ended well`,
      );
  }
}

/** A decision's outcome with its reason. */
export function answer({ outcome, reason }: Verdict): string {
  return reason === null ? outcome : `${outcome}, ${reason}`;
}

function seen({ observedAt, provider, guest, alarm }: Observation): string {
  const parts = [
    `${provider} at ${moment(observedAt)}`,
    guest === null ? 'guest unreadable' : `guest in phase ${guest.phase}, workload ${began(guest)}`,
    ...(alarm === 'none' ? [] : [`alarm ${alarm}`]),
  ];
  return parts.join(', ');
}

function began({ workloadStarted }: NonNullable<Observation['guest']>): string {
  if (workloadStarted === null) return 'not known to have begun';
  return workloadStarted ? 'begun' : 'not begun';
}

function known(facts: InstanceFacts | null): string {
  if (facts === null || facts.phase === null) return '';
  return `; in phase ${facts.phase} since ${facts.phaseSince === null ? 'an unknown time' : moment(facts.phaseSince)}`;
}

function redrive({ redrivable }: Verdict): string {
  return redrivable ? '; the capacity-retry pass may try again' : '';
}
