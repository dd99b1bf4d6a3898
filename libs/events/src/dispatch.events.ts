import { z } from 'zod';
import { defineEvent, Instant } from './define-event.ts';
import { IntentId } from './intent.events.ts';
import { Verdict } from './watch.events.ts';

const onInstance = { intent: IntentId, instance: z.string() };

/** The machine is being prepared: from here on it is half-built until the bootstrap ends well. */
export const BootstrapBegun = defineEvent({
  type: 'BootstrapBegun',
  version: 1,
  stage: 'dispatch',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ ...onInstance, begunAt: Instant }),
});

/** A dispatch will be sent. From here on the workload may have run. */
export const DispatchSending = defineEvent({
  type: 'DispatchSending',
  version: 1,
  stage: 'dispatch',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject({ ...onInstance, number: z.int().positive() }),
});

/** The workload was seen to run. */
export const WorkloadDispatched = defineEvent({
  type: 'WorkloadDispatched',
  version: 1,
  stage: 'dispatch',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: [],
  data: z.strictObject(onInstance),
});

/** Handle, stamp and completion in one append, which also closes the intent (failover 8.3). */
export const FailoverCompleted = defineEvent({
  type: 'FailoverCompleted',
  version: 1,
  stage: 'dispatch',
  role: 'decision',
  writtenBy: ['provisioner'],
  consumedBy: ['ingest'],
  data: z.strictObject({
    ...onInstance,
    lane: z.string(),
    /** The escalation that it completes; the failed instance is stamped by it. */
    key: z.string(),
    verdict: Verdict,
  }),
});
