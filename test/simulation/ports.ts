import { type Command, LogUnavailable } from '#domain/log';
import type { Log } from '#domain/log-tables';
import type { Lane } from '#domain/provision/lane';
import type { Point } from './scenario.ts';
import { type Actor, never, type Scheduler } from './scheduler.ts';

/** Where the next worker that comes along dies; null = nowhere. */
export interface Ambush {
  point: Point | null;
}

/** Points at which the lane has acted and the worker never hears of it: they are met inside the call. */
const IN_FLIGHT: Readonly<
  Partial<Record<Point, { readonly kind: 'primary' | 'terminal'; readonly call: string }>>
> = {
  queue_cancelled: { kind: 'primary', call: 'terminate' },
  create_in_flight: { kind: 'terminal', call: 'create' },
  bootstrapping: { kind: 'terminal', call: 'bootstrap' },
  dispatch_in_flight: { kind: 'terminal', call: 'dispatch' },
  reap_in_flight: { kind: 'terminal', call: 'terminate' },
};

/** Calls that a provider carries out whether or not whoever sent them still lives (failover 11). */
const MUTATING: readonly string[] = ['create', 'terminate', 'bootstrap', 'dispatch'];

/** Kills the actor if it is at the point that was named; then this never returns. */
export function killAt(actor: Actor, ambush: Ambush, point: Point): Promise<void> {
  if (ambush.point !== point || IN_FLIGHT[point] !== undefined) return Promise.resolve();
  ambush.point = null;
  actor.isDead = true;
  return never();
}

export interface PortOptions {
  readonly actor: Actor;
  readonly scheduler: Scheduler;
  readonly ambush: Ambush;
  /** Half-way through a preparation: what the machine is left as. */
  readonly onHalfBuilt: (instance: string) => void;
  /** Whether the store is away at this append: before or after it took effect. */
  readonly logFaults?: () => 'before' | 'after' | null;
  /** Told of what an append recorded, before its caller is. */
  readonly onAppended?: (actor: Actor, commands: readonly Command[]) => void;
}

/** The log as one actor has it: every call waits for its turn, and nothing comes back to the dead. */
export function logOf(log: Log, { actor, scheduler, logFaults, onAppended }: PortOptions): Log {
  const append = async (given: readonly unknown[]): Promise<unknown> => {
    const fault = logFaults?.() ?? null;
    if (fault === 'before') throw new LogUnavailable('the store is away');
    const [commands] = given;
    if (!isCommands(commands)) throw new Error('an append without commands');
    const results = await log.append(commands);
    const recorded = commands.filter((_, index) => results[index]?.outcome === 'appended');
    onAppended?.(actor, recorded);
    if (fault === 'after') throw new LogUnavailable('the answer of the store was lost');
    return results;
  };
  const tables = [
    'checkpoints',
    'leases',
    'parked',
    'tries',
    'deadLetters',
    'sealed',
    'allocations',
    'marks',
  ];
  const through = <Port extends object>(port: Port, name: string): Port =>
    new Proxy(port, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member, target);
        if (typeof value === 'object' && value !== null && tables.includes(String(member))) {
          return through(value, String(member));
        }
        if (typeof value !== 'function' || NOT_ASYNC.has(member)) return value;
        return (...given: readonly unknown[]) =>
          scheduler.call(actor, logCall(name, String(member), given), () => {
            if (member === 'append') return append(given);
            return Promise.resolve(Reflect.apply(value, target, given));
          });
      },
    });
  return through(log, 'log');
}

/** A lane as one actor has it. */
export function laneOf(lane: Lane, options: PortOptions): Lane {
  const { actor, scheduler } = options;
  return new Proxy(lane, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (typeof value !== 'function') return value;
      const call = String(member);
      return (...given: readonly unknown[]) =>
        scheduler.call(
          actor,
          `${target.facts.lane}.${call} ${shownArguments(given)}`.trim(),
          async () => acted(target, call, given, options, () => Reflect.apply(value, target, given)),
          MUTATING.includes(call),
        );
    },
  });
}

/** The effect of one call, and death in the middle of it. */
async function acted(
  lane: Lane,
  call: string,
  given: readonly unknown[],
  { actor, ambush, onHalfBuilt }: PortOptions,
  act: () => Promise<unknown>,
): Promise<unknown> {
  const point = ambush.point;
  const met = point === null ? undefined : IN_FLIGHT[point];
  const isHere = met?.kind === lane.facts.kind && met.call === call;
  if (!isHere || actor.isDead) return act();
  ambush.point = null;
  actor.isDead = true;
  if (point === 'bootstrapping') onHalfBuilt(String(given[0]));
  else await act();
  return never();
}

/** Waiting in the simulation's time. */
export function pauseOf({ actor, scheduler }: PortOptions): (ms: number) => Promise<void> {
  return (ms) => scheduler.sleep(actor, ms);
}

/** What a call is named in a trace: the facts of an append, else the names of what it asks for. */
function logCall(table: string, member: string, given: readonly unknown[]): string {
  if (member === 'append') return `append ${given.flatMap(appendedTypes).join(', ')}`;
  return `${table}.${member} ${shownArguments(given)}`.trim();
}

function appendedTypes(commands: unknown): readonly string[] {
  return isCommands(commands) ? commands.flatMap(({ events }) => events.map(({ event }) => event.type)) : [];
}

function isCommands(value: unknown): value is readonly Command[] {
  return (
    Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && 'events' in one)
  );
}

function shownArguments(given: readonly unknown[]): string {
  return given
    .flatMap((value) => {
      if (typeof value === 'string') return value.startsWith('allocation-') ? [] : [value];
      if (typeof value === 'object' && value !== null && 'intent' in value) return [String(value.intent)];
      return [];
    })
    .join(' ');
}

/** What a process asks itself, without a turn of the world. */
const NOT_ASYNC: ReadonlySet<string | symbol> = new Set(['follow', 'lastReadAgeMs', 'takesAppends']);
