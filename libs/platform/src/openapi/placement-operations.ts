import { json, located, messageKey, noStore } from './operation-parts.ts';
import {
  EXAMPLE_LAUNCH,
  EXAMPLE_OBSERVATION,
  LAUNCH_TAKEN,
  OBSERVATION_ASKED,
  OBSERVATION_MOVED,
  OBSERVATION_UNCHANGED,
  OBSERVATION_UNDECIDED,
} from './placement-examples.ts';
import { problemResponses } from './problem-responses.ts';
import type { Part } from './schemas.ts';

/** What both calls may be refused with, beside their own conflicts. */
const REFUSALS = [
  'malformed_json',
  'invalid_body',
  'unknown_caller',
  'cross_site',
  'not_permitted',
  'id_reused',
  'body_too_large',
  'not_json_type',
  'too_many_calls',
  'internal',
  'log_unavailable',
] as const;

/** `POST .../launch` (failover 2.1). */
export const LAUNCH: Part = {
  operationId: 'launchAllocation',
  tags: ['placement'],
  summary: 'Place an allocation',
  description:
    'Provisioning never runs inside the call: read what became of it at the location. Refused with 409 while the ' +
    'allocation is placed, running, waiting or awaiting consent, or while an intent is open.',
  parameters: [messageKey],
  requestBody: {
    required: true,
    description: 'At most 262144 bytes.',
    content: json('Launch', {
      ask: ['Three ways in order; a person is asked before the paid one', EXAMPLE_LAUNCH],
      provisionOnly: [
        'Nothing to run: it is placed, and never fails over',
        {
          logical_allocation: EXAMPLE_LAUNCH.logical_allocation,
          plan: { rungs: [{ id: 'batch', lane: 'kubernetes', pool: 'batch' }] },
          failover: 'never',
        },
      ],
    }),
  },
  responses: {
    202: {
      description: 'Taken. A repeat of its id gives the same answer and records nothing.',
      headers: located,
      content: json('LaunchTaken', { taken: ['Taken', LAUNCH_TAKEN] }),
    },
    ...problemResponses([...REFUSALS, 'launch_in_progress']),
  },
};

/** `POST .../observation` (failover 2.2). */
export const OBSERVATION: Part = {
  operationId: 'reportObservation',
  tags: ['placement'],
  summary: 'Report one poll of one instance',
  description:
    'In whatever order observations arrive, a run is moved at most once for each failed instance. One that changes ' +
    'nothing is answered unchanged, with the rules that did not fire.',
  parameters: [messageKey],
  requestBody: {
    required: true,
    description: 'At most 262144 bytes.',
    content: json('Observation', {
      queued: ['It waits in the queue of its pool', EXAMPLE_OBSERVATION],
      failed: [
        'The machine ended, and its workload had failed',
        {
          ...EXAMPLE_OBSERVATION,
          observed_at: '2026-11-29T12:00:00Z',
          provider: 'terminated',
          guest: { phase: 'failed', workload_started: true },
        },
      ],
    }),
  },
  responses: {
    200: {
      description: 'The decision.',
      headers: noStore,
      content: json('ObservationAnswer', {
        unchanged: ['Nothing has changed', OBSERVATION_UNCHANGED],
        moved: ['The run is moved, by standing consent', OBSERVATION_MOVED],
        asked: ['A person is asked about the move', OBSERVATION_ASKED],
      }),
    },
    202: {
      description: 'Recorded and not judged yet: read the answer at the location.',
      headers: located,
      content: json('ObservationUndecided', {
        undecided: ['Not judged within the wait', OBSERVATION_UNDECIDED],
      }),
    },
    ...problemResponses([...REFUSALS, 'never_launched']),
  },
};
