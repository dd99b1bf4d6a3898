import { z } from 'zod';
import { Actor } from './attempt.events.ts';
import { defineEvent, EventId } from './define-event.ts';
import { Scalars } from './scalars.ts';

/**
 * An operator asked that the name and the texts be destroyed. Recorded before the first of them is, so that an
 * erasure that was cut off is seen and can be finished: it is done when `AllocationErased` follows.
 */
export const ErasureRequested = defineEvent({
  type: 'ErasureRequested',
  version: 1,
  stage: 'audit',
  role: 'input',
  writtenBy: ['admin'],
  consumedBy: [],
  data: z.strictObject({ requestedBy: Actor }),
});

/** The allocation's record key was destroyed: its name and texts are gone, an open question is withdrawn. */
export const AllocationErased = defineEvent({
  type: 'AllocationErased',
  version: 1,
  stage: 'audit',
  role: 'decision',
  writtenBy: ['admin'],
  consumedBy: ['classifier', 'consent', 'ingest'],
  data: z.strictObject({ withdrew: EventId.nullable(), after: Scalars }),
});

const parkedPart = { consumer: z.string(), stream: z.string(), firstPos: z.int().positive() };

/** An operator let a consumer try a parked allocation again. */
export const ParkedRequeued = defineEvent({
  type: 'ParkedRequeued',
  version: 1,
  stage: 'audit',
  role: 'input',
  writtenBy: ['admin', 'consent'],
  consumedBy: [],
  data: z.strictObject(parkedPart),
});

/** An operator told a consumer to pass over the event that parked an allocation. */
export const ParkedSkipped = defineEvent({
  type: 'ParkedSkipped',
  version: 1,
  stage: 'audit',
  role: 'input',
  writtenBy: ['admin', 'consent'],
  consumedBy: [],
  data: z.strictObject({ ...parkedPart, skippedPos: z.int().positive() }),
});
