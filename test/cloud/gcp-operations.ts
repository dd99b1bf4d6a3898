import { randomId } from '#platform/ids';
import type { CloudInstance } from './instance.ts';

export interface OperationError {
  readonly code: string;
  readonly message: string;
}

/** One operation, kept also when its instance is gone. */
export interface Operation {
  readonly name: string;
  readonly zone: string;
  readonly type: 'insert' | 'delete';
  readonly targetId: string;
  readonly targetName: string;
  readonly user: string;
  readonly requestId: string | null;
  /** What the request said, to tell a repeat from another request under the same id. */
  readonly body: string;
  readonly beganAtMs: number;
  readonly doneAtMs: number;
  readonly errors: readonly OperationError[];
}

export const OUR_USER = 'spillway@stand-in.iam.gserviceaccount.com';
const SOMEBODY = 'somebody@example.com';
const OPERATIONS_MAX = 20_000;

/** All operations of the stand-in's projects, the oldest dropped in the end. */
export class Operations {
  readonly #kept: Operation[] = [];

  add(operation: Omit<Operation, 'name'>): Operation {
    const made = { ...operation, name: `operation-${randomId()}` };
    this.#kept.push(made);
    if (this.#kept.length > OPERATIONS_MAX) this.#kept.shift();
    return made;
  }

  /** A delete of an instance by somebody else, as a person would leave it behind. */
  addForeignDelete(instance: CloudInstance, atMs: number): void {
    this.add({
      zone: instance.zone ?? '',
      type: 'delete',
      targetId: instance.id,
      targetName: instance.name,
      user: SOMEBODY,
      requestId: null,
      body: '',
      beganAtMs: atMs,
      doneAtMs: atMs,
      errors: [],
    });
  }

  named(zone: string, name: string): Operation | null {
    return this.#kept.find((kept) => kept.zone === zone && kept.name === name) ?? null;
  }

  ofTarget(zone: string, targetId: string): readonly Operation[] {
    return this.#kept.filter((kept) => kept.zone === zone && kept.targetId === targetId);
  }

  ofRequest(zone: string, requestId: string): Operation | null {
    return this.#kept.find((kept) => kept.zone === zone && kept.requestId === requestId) ?? null;
  }
}

/** An operation as Compute shows it at a time. */
export function operationBody(operation: Operation, nowMs: number): Readonly<Record<string, unknown>> {
  const done = nowMs >= operation.doneAtMs;
  return {
    kind: 'compute#operation',
    name: operation.name,
    operationType: operation.type,
    zone: `https://www.googleapis.com/compute/v1/projects/p/zones/${operation.zone}`,
    targetId: operation.targetId,
    targetLink: `https://www.googleapis.com/compute/v1/projects/p/zones/${operation.zone}/instances/${operation.targetName}`,
    user: operation.user,
    ...(operation.requestId === null ? {} : { clientOperationId: operation.requestId }),
    status: done ? 'DONE' : 'RUNNING',
    progress: done ? 100 : 0,
    insertTime: new Date(operation.beganAtMs).toISOString(),
    ...(done && operation.errors.length > 0
      ? {
          error: { errors: operation.errors },
          httpErrorStatusCode: 503,
          httpErrorMessage: 'SERVICE UNAVAILABLE',
        }
      : {}),
  };
}
