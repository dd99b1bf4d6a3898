import { z } from 'zod';

/** The nine stage words. They name event files, rule folders, specs and README sections. */
export const STAGES = [
  'attempt',
  'classify',
  'prompt',
  'consent',
  'intent',
  'provision',
  'dispatch',
  'watch',
  'audit',
] as const;
export type Stage = (typeof STAGES)[number];

/** The processes that write or read events; `admin` is the command line under its own role. */
export type AppName = 'ingest' | 'classifier' | 'consent' | 'provisioner' | 'audit' | 'admin';

/**
 * An `input` is recorded as it comes and changes no decision state. A `decision` (a decision or a fact)
 * does, and raises the decision version of its stream by one (fallback 3).
 */
export type EventRole = 'input' | 'decision';

/** What an app hands to the log: one event that has not been recorded yet. */
export interface NewEvent<Type extends string = string, Data = unknown> {
  readonly type: Type;
  readonly version: number;
  readonly role: EventRole;
  readonly data: Data;
}

export interface EventDefinition<
  Type extends string = string,
  Data = unknown,
  Consumers extends readonly AppName[] = readonly AppName[],
> {
  readonly type: Type;
  readonly version: number;
  readonly stage: Stage;
  readonly role: EventRole;
  readonly writtenBy: readonly AppName[];
  readonly consumedBy: Consumers;
  readonly data: z.ZodType<Data>;
  /** Builds the event from data that the types already vouch for; parsing is for what comes from outside. */
  create(data: Data): NewEvent<Type, Data>;
}

type EventSpec<Type extends string, Shape extends z.ZodType, Consumers extends readonly AppName[]> = {
  readonly type: Type;
  readonly version: number;
  readonly stage: Stage;
  readonly role: EventRole;
  readonly writtenBy: readonly AppName[];
  readonly consumedBy: Consumers;
  readonly data: Shape;
};

/** Declares an event once: its name, what it carries, who writes it and who reads it. */
export function defineEvent<
  const Type extends string,
  Shape extends z.ZodType,
  const Consumers extends readonly AppName[],
>(spec: EventSpec<Type, Shape, Consumers>): EventDefinition<Type, z.output<Shape>, Consumers> {
  return {
    ...spec,
    data: spec.data as z.ZodType<z.output<Shape>>,
    create: (data) => ({ type: spec.type, version: spec.version, role: spec.role, data }),
  };
}

export type DataOf<Definition> =
  Definition extends EventDefinition<string, infer Data, readonly AppName[]> ? Data : never;

/** 64 lower-case hex digits: the form of every digest (fallback 5). */
export const Digest = z.string().regex(/^[0-9a-f]{64}$/);
/** 26 characters of lower-case base32: the form of every event id (fallback 1.1: at least 120 bits). */
export const EventId = z.string().regex(/^[a-z2-7]{26}$/);
/** RFC 3339 in UTC with milliseconds: the only form in which the log keeps a time. */
export const Instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
