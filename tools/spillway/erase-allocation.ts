import { decideErasure } from '#domain/audit/erase';
import { commandDigest } from '#domain/command-digest';
import type { Fact, Standing } from '#domain/fact';
import type { AppendPort, Command, LogReader } from '#domain/log';
import type { ErasedCount, SealedStore } from '#domain/log-tables';
import { ErasureRequested } from '#events/audit.events';
import { canonicalJson } from '#events/canonical-json';
import { factsCommand } from './facts-command.ts';
import { standingOf } from './standing-of.ts';

export type EraseLog = AppendPort &
  Pick<LogReader, 'readStream'> & { readonly sealed: Pick<SealedStore, 'erase' | 'keysOf' | 'ofStream'> };

export type Erased =
  | {
      readonly kind: 'erased';
      readonly destroyed: ErasedCount;
      /** Position of the fact that says so. */
      readonly position: number;
      /** The open question that it withdrew. */
      readonly withdrew: string | null;
      /** An earlier erasure had been cut off, and this one finished it. */
      readonly finishes: boolean;
      /** The same name was reported while this ran: what was sealed anew since then is there. */
      readonly reportedMeanwhile: boolean;
    }
  | { readonly kind: 'erased_already'; readonly position: number };

/** What the stream says of erasures: positions, 0 = none. */
interface Erasures {
  readonly standing: Standing;
  readonly requestedAt: number;
  readonly erasedAt: number;
  readonly streamVersion: number;
}

/** Polls of a busy allocation may come in between, each time. */
const TRIES = 20;

/**
 * Erases an allocation: says in the log that it was asked for, destroys its keys and texts, and records that they
 * are gone (fallback 7). In this order, since an intent that is not recorded could not be finished after a crash,
 * and since the fact is what makes every app forget the key: told before the key is gone, an app would take the
 * old one up again and seal what is reported from then on under a key that is about to be destroyed. Whoever dies
 * in between is finished by the same call.
 */
export async function eraseAllocation(
  log: EraseLog,
  call: { readonly stream: string; readonly at: string; readonly requestedBy: string },
): Promise<Erased> {
  const { stream } = call;
  const before = await erasuresOf(log, stream);
  const isOpen = before.requestedAt > before.erasedAt;
  if (!isOpen) {
    const isBare =
      (await log.sealed.keysOf(stream)).length + (await log.sealed.ofStream(stream)).length === 0;
    if (isBare && before.erasedAt > 0) return { kind: 'erased_already', position: before.erasedAt };
    await log.append([requestCommand(before.streamVersion, call)]);
  }
  const destroyed = await log.sealed.erase(stream);
  const recorded = await recordErased(log, call);
  const reportedMeanwhile = (await log.sealed.keysOf(stream)).length > 0;
  return { kind: 'erased', destroyed, ...recorded, finishes: isOpen, reportedMeanwhile };
}

async function erasuresOf(log: EraseLog, stream: string): Promise<Erasures> {
  let [requestedAt, erasedAt, streamVersion] = [0, 0, 0];
  const standing = await standingOf(log, stream, ({ type, row }) => {
    if (type === 'ErasureRequested') requestedAt = row.pos;
    if (type === 'AllocationErased') erasedAt = row.pos;
    streamVersion = row.streamVersion;
  });
  return { standing, requestedAt, erasedAt, streamVersion };
}

/** On the exact version on which it was decided: overtaken, it is decided again on what was recorded meanwhile. */
async function recordErased(
  log: EraseLog,
  { stream, at }: { readonly stream: string; readonly at: string },
): Promise<{ readonly position: number; readonly withdrew: string | null }> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { standing } = await erasuresOf(log, stream);
    const facts = decideErasure(standing);
    const writesPlacement = standing.placement.launch !== null;
    const [result] = await log.append([factsCommand({ stream, at, standing, facts, writesPlacement })]);
    switch (result?.outcome) {
      case 'appended':
      case 'duplicate':
        return { position: result.firstPos, withdrew: withdrewOf(facts) };
      case 'wrong_version':
        continue;
      default:
        throw new Error(`an erasure was answered ${result?.outcome ?? 'nothing'}`);
    }
  }
  throw new Error(`the allocation changed ${TRIES} times while its erasure was recorded: run it again`);
}

function withdrewOf(facts: readonly Fact[]): string | null {
  const [erased] = facts;
  return erased?.type === 'AllocationErased' ? erased.data.withdrew : null;
}

/** A repeat on an unchanged stream is the same request. */
function requestCommand(
  streamVersion: number,
  { stream, at, requestedBy }: { readonly stream: string; readonly at: string; readonly requestedBy: string },
): Command {
  const digest = commandDigest('admin', canonicalJson({ stream, streamVersion, erase: requestedBy }));
  return {
    commandId: `admin-${digest}`,
    digest,
    stream,
    expected: 'any',
    occurredAt: at,
    events: [{ event: ErasureRequested.create({ requestedBy }), meta: { causedBy: null, saw: null } }],
  };
}
