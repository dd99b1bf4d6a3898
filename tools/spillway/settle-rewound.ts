import type { Fact, Standing } from '#domain/fact';
import type { AppendPort, LogReader } from '#domain/log';
import type { Rewound } from '#domain/placement';
import type { MachineAnswer, RewoundRefusal } from '#domain/provision/rewound';
import { factsCommand } from './facts-command.ts';
import { standingOf } from './standing-of.ts';

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
 * Records what a person decided about a machine that holds its allocation (failover 5.8, 10.3), on the exact version
 * on which it was decided: overtaken, it is decided again on what was recorded meanwhile.
 */
export async function settleRewound(
  log: RewoundLog,
  call: {
    readonly stream: string;
    readonly at: string;
    readonly decide: (standing: Standing) => MachineAnswer;
  },
): Promise<Settled> {
  const { stream, at, decide } = call;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const standing = await standingOf(log, stream);
    const answer = decide(standing);
    if (answer.kind === 'refused') return answer;
    const [result] = await log.append([
      factsCommand({ stream, at, standing, facts: answer.facts, writesPlacement: true }),
    ]);
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
