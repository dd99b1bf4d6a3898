import { ALLOCATION_EVENTS, allocationRowOf, evolveRecorded, UNKNOWN_ALLOCATION } from '#domain/allocation';
import { commandDigest } from '#domain/command-digest';
import { afterFacts, eventOfFact, type Fact, type Standing } from '#domain/fact';
import type { AppendPort, Command, LogReader } from '#domain/log';
import { NOT_PLACED, type Rewound } from '#domain/placement';
import { evolveRecordedPlacement } from '#domain/placement-fold';
import { placementRowOf } from '#domain/placement-row';
import type { RewoundAnswer, RewoundRefusal } from '#domain/provision/rewound';
import { canonicalJson } from '#events/canonical-json';
import { eventIdOf } from '#events/envelope';
import { readEvent } from '#events/upcast';

const PAGE_ROWS = 500;
/** Polls of a busy allocation may come in between, each time. */
const TRIES = 20;

export type RewoundLog = AppendPort & Pick<LogReader, 'readStream'>;

export type Settled =
  | {
      readonly kind: 'recorded';
      readonly machine: Rewound;
      readonly facts: readonly Fact[];
      readonly position: number;
    }
  | { readonly kind: 'refused'; readonly why: RewoundRefusal; readonly machine: Rewound | null };

/**
 * Records what a person decided about a machine that holds its allocation (failover 5.8, 10.3), on the exact version on which
 * it was decided: overtaken, it is decided again on what was recorded meanwhile.
 */
export async function settleRewound(
  log: RewoundLog,
  call: {
    readonly stream: string;
    readonly at: string;
    readonly decide: (standing: Standing) => RewoundAnswer;
  },
): Promise<Settled> {
  const { stream, at, decide } = call;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const standing = await standingOf(log, stream);
    const answer = decide(standing);
    if (answer.kind === 'refused') return answer;
    const [result] = await log.append([commandOf(stream, at, standing, answer.facts)]);
    switch (result?.outcome) {
      case 'appended':
      case 'duplicate':
        return { kind: 'recorded', machine: answer.machine, facts: answer.facts, position: result.firstPos };
      case 'wrong_version':
        continue;
      default:
        throw new Error(`an operator's decision was answered ${result?.outcome ?? 'nothing'}`);
    }
  }
  throw new Error(`the allocation changed ${TRIES} times while it was decided about: nothing was recorded`);
}

async function standingOf(log: RewoundLog, stream: string): Promise<Standing> {
  let standing: Standing = { placement: NOT_PLACED, record: UNKNOWN_ALLOCATION };
  let version = 0;
  for (;;) {
    const rows = await log.readStream(stream, version, PAGE_ROWS);
    for (const row of rows) {
      const event = readEvent(row);
      standing = {
        placement: evolveRecordedPlacement(standing.placement, event),
        record: evolveRecorded(standing.record, event),
      };
      version = row.streamVersion;
    }
    if (rows.length < PAGE_ROWS) return standing;
  }
}

function commandOf(stream: string, at: string, standing: Standing, facts: readonly Fact[]): Command {
  const saw = standing.placement.version;
  // The same words on the same version are the same command: a repeat after a lost reply changes nothing.
  const digest = commandDigest('admin', canonicalJson({ stream, saw, facts }));
  const commandId = `admin-${digest}`;
  const after = afterFacts(standing, facts, { at, eventIdAt: (index) => eventIdOf(commandId, index) });
  const changesRecord = facts.some((fact) => ALLOCATION_EVENTS.some((type) => type === fact.type));
  return {
    commandId,
    digest,
    stream,
    expected: { decisionVersion: saw },
    occurredAt: at,
    events: facts.map((fact) => ({ event: eventOfFact(fact), meta: { causedBy: null, saw } })),
    placement: placementRowOf(after.placement),
    ...(changesRecord ? { allocation: allocationRowOf(after.record.scalars) } : {}),
  };
}
