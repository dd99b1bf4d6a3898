import type { MoveAnswer } from '#domain/attempt/answer';
import type { Fact } from '#domain/fact';
import type { KeyRing } from '#domain/key-ring';
import { locationOf } from '#domain/location';
import type { LogReader } from '#domain/log';
import type { Placement } from '#domain/placement';
import type { RecordedEvent } from '#events/envelope';
import { readEvent } from '#events/upcast';

/** What an answer decided about a move; null for an answer to the pool question (fallback 1.2). */
export function moveDecided(facts: readonly Fact[], placement: Placement, ring: KeyRing): MoveAnswer | null {
  const verdicts = facts.flatMap(({ data }) => ('verdict' in data ? [data.verdict] : []));
  const verdict = verdicts.at(-1);
  if (verdict === undefined || placement.launch === null) return null;
  const { outcome, reason } = verdict;
  return { outcome, reason, location: locationOf(placement.launch.id, ring) };
}

/** Of the failover's answers: the answer itself and what followed from it. */
const ANSWER_EVENTS_MAX = 8;

/** The same of an answer that was recorded earlier: what was decided then. */
export async function moveRecorded(
  log: LogReader,
  decision: RecordedEvent,
  ring: KeyRing,
): Promise<MoveAnswer | null> {
  if (decision.type !== 'FailoverAccepted' && decision.type !== 'FailoverDeclined') return null;
  const { stream, streamVersion, decisionVersion, commandId } = decision;
  const [behind, launches] = await Promise.all([
    log.readStream(stream, streamVersion, ANSWER_EVENTS_MAX),
    log.newestDecisions(stream, ['LaunchAccepted'], 1, decisionVersion),
  ]);
  const verdicts = behind
    .filter((row) => row.commandId === commandId)
    .map(readEvent)
    .flatMap(({ data }) => ('verdict' in data ? [data.verdict] : []));
  const verdict = verdicts.at(-1);
  const launch = launches[0] === undefined ? null : readEvent(launches[0]);
  if (verdict === undefined || launch?.type !== 'LaunchAccepted') {
    throw new Error('an answer to a failover question without its verdict and its launch');
  }
  const { outcome, reason } = verdict;
  return { outcome, reason, location: locationOf(launch.data.launch, ring) };
}
