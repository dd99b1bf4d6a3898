import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { OperationsReading } from '#domain/provision/lane';
import { OperationErrors } from './failure-table.ts';

/** An operation of Compute, as far as it is read. */
const Operation = z.object({
  name: z.string().min(1),
  operationType: z.string().catch(''),
  status: z.string(),
  targetId: z.string().optional(),
  clientOperationId: z.string().optional().catch(undefined),
  insertTime: z.string().optional().catch(undefined),
  error: z.object({ errors: OperationErrors }).optional(),
  httpErrorStatusCode: z.number().nullable().catch(null).default(null),
});
export type Operation = z.output<typeof Operation>;

const OperationList = z.object({
  kind: z.literal('compute#operationList'),
  items: z.array(Operation).default([]),
  nextPageToken: z.string().optional(),
});

/** An operation, or null when it cannot be read. */
export function readOperation(json: unknown): Operation | null {
  return Operation.safeParse(json).data ?? null;
}

/** All operations of an answer; null when they cannot be read or are only a part. */
export function readOperations(json: unknown): readonly Operation[] | null {
  const list = OperationList.safeParse(json).data;
  return list === undefined || list.nextPageToken !== undefined ? null : list.items;
}

export function isDone(operation: Operation): boolean {
  return operation.status === 'DONE';
}

/** How often a delete is asked for anew under a key of its own, when the one before has ended in an error. */
export const DELETE_KEYS = 4;

/** The idempotency key of the insert of an intent: a repeat makes no second machine. Never the zero UUID. */
export function insertKey(intent: string): string {
  return uuidOf(`spillway/gcp/insert\n${intent}`);
}

/** The key of the nth delete of an instance. By it our own deletes are told from a person's. */
export function deleteKey(id: string, nth: number): string {
  return uuidOf(`spillway/gcp/delete\n${nth}\n${id}`);
}

/** What happened to an instance, our own deletes left out (providers 2). */
export function evidenceOf(operations: readonly Operation[], id: string): OperationsReading {
  const own = new Set(Array.from({ length: DELETE_KEYS }, (_, nth) => deleteKey(id, nth)));
  const insert = operations.find(({ operationType }) => operationType === 'insert');
  const foreign = operations.some(
    ({ operationType, clientOperationId }) =>
      operationType === 'delete' && (clientOperationId === undefined || !own.has(clientOperationId)),
  );
  const [error] = insert?.error?.errors ?? [];
  return {
    create: insert === undefined ? 'unknown' : endOf(insert),
    createError: error === undefined ? null : { code: error.code, message: error.message },
    delete: foreign ? 'present' : 'none',
  };
}

function endOf(insert: Operation): OperationsReading['create'] {
  if (!isDone(insert)) return 'running';
  return insert.error === undefined ? 'done' : 'failed';
}

/** A UUID of version 8 (RFC 9562): its bits are ours. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  const versioned = Buffer.from(bytes);
  versioned.writeUInt8((versioned.readUInt8(6) & 0x0f) | 0x80, 6);
  versioned.writeUInt8((versioned.readUInt8(8) & 0x3f) | 0x80, 8);
  return versioned.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
