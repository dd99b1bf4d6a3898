import pLimit from 'p-limit';
import type { AllocationTable, StoredAllocation } from '#domain/log-tables';
import type {
  InstanceReading,
  Lane,
  LaneFailureKind,
  OperationsReading,
  ProbeReading,
} from '#domain/provision/lane';
import type { Outcome } from '#events/watch.events';
import type { Clock } from '#platform/clock';

/** One poll, as `POST .../observation` takes it (failover 2.2). */
export interface ObservationBody {
  readonly message_id: string;
  readonly logical_allocation: string;
  readonly instance: string;
  readonly lane: string;
  readonly observed_at: string;
  readonly provider: 'queued' | 'provisioning' | 'running' | 'terminated' | 'not_found' | 'probe_error';
  readonly guest?: { readonly phase: string; readonly workload_started: boolean | null };
  readonly alarm: 'none' | 'transport' | 'control_plane';
  readonly log_age_s: number | null;
  readonly create_operation: OperationsReading['create'];
  readonly create_error?: { readonly code: string | null; readonly message: string | null };
  readonly delete_operation: OperationsReading['delete'];
  readonly port: boolean | null;
}

export interface WatcherOptions {
  readonly allocations: AllocationTable;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly clock: Clock;
  /** The allocation's clear name; null when it was erased: nobody can report about it any more. */
  readonly name: (stream: string) => Promise<string | null>;
  /** Hands an observation to the same input that outside pollers use. Rejects when it was not taken. */
  readonly publish: (body: ObservationBody) => Promise<void>;
  /** `error`: what kept a poll from being handed in; never a provider's text. */
  readonly onFailure: (lane: string, why: LaneFailureKind | 'not_taken', error?: unknown) => void;
}

/** Outcomes in which an instance of ours may live. */
const WATCHED: readonly Outcome[] = ['placed_primary', 'running_on_terminal', 'awaiting_consent', 'waiting'];
const PAGE = 500;
/** Polls under way at once. */
const POLLS_AT_ONCE = 16;

/** Polls the current instances of lanes that have a driver (failover 3). It decides nothing. */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #limit = pLimit(POLLS_AT_ONCE);

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  /** Polls every watched instance once. */
  async round(): Promise<void> {
    for (const outcome of WATCHED) {
      let after = '';
      for (;;) {
        const page = await this.#options.allocations.list({ outcome }, PAGE, after);
        await Promise.all(page.map((row) => this.#limit(() => this.#poll(row))));
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) break;
        after = last.stream;
      }
    }
  }

  async #poll({ stream, placement }: StoredAllocation): Promise<void> {
    const { lanes, name, clock, publish, onFailure } = this.#options;
    const lane = placement?.lane == null ? undefined : lanes.get(placement.lane);
    const instance = placement?.instance ?? null;
    if (lane === undefined || instance === null) return;
    // One allocation whose name cannot be opened must not end the round of all others.
    try {
      const logicalName = await name(stream);
      if (logicalName === null) return;
      // Before the read: what is seen is at least as new as this.
      const observedAt = clock.now();
      const seen = await seenOf(lane, instance, (kind) => onFailure(lane.facts.lane, kind));
      await publish({
        message_id: `watch-${observedAt}-${instance}`.slice(0, 128),
        logical_allocation: logicalName,
        instance,
        lane: lane.facts.lane,
        observed_at: observedAt,
        ...seen,
      });
    } catch (error) {
      onFailure(lane.facts.lane, 'not_taken', error);
    }
  }
}

type Seen = Omit<ObservationBody, 'message_id' | 'logical_allocation' | 'instance' | 'lane' | 'observed_at'>;

const NOTHING_READ: Seen = {
  provider: 'probe_error',
  alarm: 'none',
  log_age_s: null,
  create_operation: 'unknown',
  delete_operation: 'unknown',
  port: null,
};

/** Reads one instance. Absence counts only when two reads of the same poll say so (failover 2.2). */
export async function seenOf(
  lane: Lane,
  instance: string,
  onFailure: (kind: LaneFailureKind) => void,
): Promise<Seen> {
  const first = await lane.get(instance);
  if (first.kind === 'ok') return present(lane, instance, first.value);
  if (first.failure.kind !== 'not_found') {
    onFailure(first.failure.kind);
    return NOTHING_READ;
  }
  const second = await lane.get(instance);
  if (second.kind === 'ok') return present(lane, instance, second.value);
  if (second.failure.kind !== 'not_found') {
    onFailure(second.failure.kind);
    return NOTHING_READ;
  }
  const read = await lane.operations(instance);
  const operations = read.kind === 'ok' ? read.value : null;
  return {
    ...NOTHING_READ,
    provider: 'not_found',
    create_operation: operations?.create ?? 'unknown',
    ...(operations?.createError == null ? {} : { create_error: operations.createError }),
    delete_operation: operations?.delete ?? 'unknown',
  };
}

async function present(lane: Lane, instance: string, reading: InstanceReading): Promise<Seen> {
  const { alarm, logAgeS, port } = reading;
  const guest = reading.guest ?? (await guestByProbe(lane, instance, reading));
  return {
    provider: reading.instance.state,
    ...(guest === null ? {} : { guest: { phase: guest.phase, workload_started: guest.workloadStarted } }),
    alarm,
    log_age_s: logAgeS,
    create_operation: 'done',
    delete_operation: 'unknown',
    port,
  };
}

/** Where the provider knows nothing of the guest, the machine itself is asked. */
async function guestByProbe(
  lane: Lane,
  instance: string,
  reading: InstanceReading,
): Promise<InstanceReading['guest']> {
  if (lane.facts.startsWorkload !== 'by_dispatch' || reading.instance.state !== 'running') return null;
  const probe = await lane.probe(instance);
  return probe.kind === 'ok' ? guestOf(probe.value) : null;
}

function guestOf({ workload, result }: ProbeReading): InstanceReading['guest'] {
  switch (workload) {
    case 'running':
      return { phase: 'workload', workloadStarted: true };
    case 'finished':
      if (result === null) return null;
      return { phase: result === 'done' ? 'done' : 'failed', workloadStarted: true };
    case 'none':
    case 'unknown':
      return null;
  }
}
