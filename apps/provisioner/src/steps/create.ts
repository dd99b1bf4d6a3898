import { blocked } from '#domain/intent/blocked';
import type { IntentState } from '#domain/intent/intent-state';
import type { LeaseStep } from '#domain/log';
import { rungOf } from '#domain/placement';
import { pauseEnd } from '#domain/provision/backoff';
import type { CreateAnswer, CreateRequest, LaneFailure, LaneInstance } from '#domain/provision/lane';
import { markOf } from '#domain/provision/marker';
import { ownershipOf } from '#domain/provision/residue';
import { speaksOfShortage } from '#domain/provision/shortage-text';
import type { DataOfType } from '#events/catalogue';
import { plusSeconds } from '#events/instant';
import { creating, send } from '../effects.ts';
import type { SealedFailure } from '../parts.ts';
import type { AllocationRun, Progress } from '../run.ts';
import { isTooLate, SEND_LIMIT_S } from './send-limit.ts';

type Ended = Omit<DataOfType<'CreateEnded'>, 'intent' | 'endedAt'>;

/** Steps 6 and 7: announce, send with the marker, record the id before any waiting (failover 9.1). */
export async function createInstance(run: AllocationRun, intent: IntentState): Promise<Progress> {
  const { terminalRoom } = run.parts;
  const request = await requestOf(run, intent);
  if (request === null) return nothingToRun(run, intent);
  const terminal = intent.entry.kind === 'terminal';
  const asking = { stream: run.stream, intent: intent.intent };
  const announced = terminal
    ? await terminalRoom.record(asking, (step) => announce(run, intent, step))
    : await announce(run, intent);
  // Another worker has filled it since this one looked: chosen anew, it waits.
  if (announced.kind === 'full') return 'go_on';
  if (announced.kind === 'lost') return 'stop';
  if (announced.kind !== 'recorded') return run.after(announced);
  run.forget(intent.lane, null);
  if (isTooLate(run, announced.askedMs)) return 'go_on';

  const lane = run.lane(intent.lane);
  const mark = markOf(run.parts.settings.deployment, run.stream, intent.intent);
  const answer = await send(announced.recorded, lane, creating(mark, request));
  if (terminal) await run.parts.kill('create_in_flight');
  return answered(run, intent, answer);
}

/**
 * Renews the lease and records that a create will be sent, and until when: the lease outlasts the limit and the
 * call's deadline, however long its turn at the breaker took (failover 9.1, step 6). The limit is measured from
 * before the store was asked for its time: an answer of the store that comes late is older than it seems.
 */
async function announce(run: AllocationRun, intent: IntentState, lease?: LeaseStep) {
  const { log, clock } = run.parts;
  if (!(await run.renewLease())) return { kind: 'lost' as const };
  const askedMs = clock.monotonicMs();
  const sendNotAfter = plusSeconds(await log.leases.clock(), SEND_LIMIT_S);
  const data = { intent: intent.intent, sendNotAfter, number: intent.sends + 1 };
  const result = await run.add([{ type: 'CreateSending', data }], lease === undefined ? {} : { lease });
  return { ...result, askedMs };
}

async function answered(run: AllocationRun, intent: IntentState, answer: CreateAnswer): Promise<Progress> {
  switch (answer.kind) {
    case 'created':
      return created(run, intent, answer.instance);
    case 'name_conflict': {
      const { instance } = answer;
      if (instance === null) return ended(run, intent, { ...NO_TEXT, answer: 'outcome_unknown' });
      if (isOurs(run, intent, instance)) return created(run, intent, instance);
      return ended(run, intent, { ...NO_TEXT, answer: 'name_taken' });
    }
    case 'workload_error':
      return failed(run, intent, answer.failure, 'workload_error');
    case 'failed':
      return failed(run, intent, answer.failure, answer.failure.kind);
  }
}

const NO_TEXT = { code: null, failureDigest: null, speaksOfShortage: false, notBefore: null } as const;

async function created(run: AllocationRun, intent: IntentState, instance: LaneInstance): Promise<Progress> {
  const terminal = intent.entry.kind === 'terminal';
  if (terminal) await run.parts.kill('created_unrecorded');
  const { id, pool, createdAt, costPerHourUsd } = instance;
  for (;;) {
    const result = await run.add([
      {
        type: 'InstanceCreated',
        data: { intent: intent.intent, instance: id, pool, createdAt, costPerHourUsd },
      },
    ]);
    if (result.kind === 'overtaken') continue;
    if (result.kind === 'fenced') {
      await run.recorder.addLateInstance(intent.intent, id);
      return run.after(result);
    }
    // This worker's own create: whether a listing shows it yet is nothing to wait for.
    run.knows(intent.intent);
    if (terminal) await run.parts.kill('created_recorded');
    return 'go_on';
  }
}

async function failed(
  run: AllocationRun,
  intent: IntentState,
  failure: LaneFailure,
  answer: Ended['answer'],
): Promise<Progress> {
  const sealed = await run.parts.texts.sealFailure(run.stream, failure);
  const paused = answer === 'rate_limited' || answer === 'auth' || answer === 'unavailable';
  const until = async () =>
    pauseEnd(await run.parts.log.leases.clock(), intent.sends + 1, failure.retryAfterS);
  return ended(
    run,
    intent,
    {
      answer,
      code: failure.codeIsKnown ? failure.code : null,
      failureDigest: sealed.digest,
      speaksOfShortage: answer === 'outcome_unknown' && speaksOfShortage(failure),
      notBefore: paused ? await until() : null,
    },
    sealed.parts,
  );
}

/** Records how the call ended; the fold says what follows (failover 9.2). */
async function ended(
  run: AllocationRun,
  intent: IntentState,
  data: Ended,
  parts: SealedFailure['parts'] = {},
): Promise<Progress> {
  const endedAt = await run.parts.log.leases.clock();
  for (;;) {
    const result = await run.add(
      [{ type: 'CreateEnded', data: { ...data, intent: intent.intent, endedAt } }],
      { parts },
    );
    // The answer is a fact whatever was decided meanwhile.
    if (result.kind !== 'overtaken') return run.after(result);
  }
}

function isOurs(run: AllocationRun, intent: IntentState, instance: LaneInstance): boolean {
  const { deployment, allocation } = markOf(run.parts.settings.deployment, run.stream, intent.intent);
  const ownership = ownershipOf(instance, { deployment, allocation, intents: run.recorder.state.intents });
  return ownership.whose === 'ours' && ownership.intent.intent === intent.intent;
}

/** Null = the workload was erased: there is nothing to run any more. */
async function requestOf(run: AllocationRun, intent: IntentState): Promise<CreateRequest | null> {
  const { state } = run.recorder;
  const { launch } = state;
  if (launch === null) throw new Error('an intent without a launch');
  const workload =
    launch.workloadDigest === null ? null : await run.parts.texts.workload(run.stream, launch.workloadDigest);
  if (workload === null && launch.workloadDigest !== null) return null;
  const { entry } = intent;
  if (entry.kind === 'terminal') {
    const { machine = null, gpu = null } = launch.plan.terminal ?? {};
    return { pool: null, zone: null, machine, gpu, maxRunS: null, workload };
  }
  const rung = rungOf(state, entry.rung);
  if (rung === null) throw new Error('an intent of a rung that no plan names');
  const { pool, machine, gpu, maxRunS } = rung;
  return { pool, zone: entry.zone, machine, gpu, maxRunS, workload };
}

async function nothingToRun(run: AllocationRun, intent: IntentState): Promise<Progress> {
  const result = await run.add([
    { type: 'IntentClosed', data: { intent: intent.intent, why: 'blocked' } },
    blocked('relaunch_spec_missing', '4.8 nothing_to_run', { erased: true }),
  ]);
  return run.after(result);
}
