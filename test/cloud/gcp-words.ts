import type { HttpAnswer } from './answering.ts';
import type { OperationError } from './gcp-operations.ts';
import type { Answer, Step } from './scripts.ts';

/** Refusals of an insert that come by its operation. */
export const OPERATION_ERRORS: Readonly<Partial<Record<Answer, readonly OperationError[]>>> = {
  capacity: [
    {
      code: 'ZONE_RESOURCE_POOL_EXHAUSTED',
      message: "The zone 'projects/p/zones/us-central1-a' does not have enough resources available.",
    },
  ],
  quota: [
    {
      code: 'QUOTA_EXCEEDED',
      message: "Quota 'NVIDIA_H100_GPUS' exceeded. Limit: 8.0 in region us-central1.",
    },
  ],
};

const REFUSALS: Readonly<
  Partial<Record<Answer, readonly [status: number, reason: string, message: string]>>
> = {
  capacity: [503, 'ZONE_RESOURCE_POOL_EXHAUSTED', 'The zone does not have enough resources available.'],
  quota: [403, 'quotaExceeded', "Quota 'NVIDIA_H100_GPUS' exceeded."],
  rejected: [400, 'invalid', "Invalid value for field 'resource.machineType'"],
  auth: [401, 'authError', 'Invalid Credentials'],
  balance: [403, 'accountDisabled', 'The billing account is closed'],
  rate_limited: [403, 'rateLimitExceeded', 'Rate Limit Exceeded'],
  not_found: [404, 'notFound', 'The resource was not found'],
  unavailable: [503, 'backendError', 'The service is currently unavailable.'],
  error: [500, 'backendError', 'Internal error; the zone does not have enough resources available'],
};

export function gcpRefusal(answer: Answer, step: Step): HttpAnswer {
  const [status, reason, message] = REFUSALS[answer] ?? [500, 'backendError', 'Internal error'];
  return gcpError(step.status ?? status, reason, message);
}

/** An error as Compute words it. */
export function gcpError(status: number, reason: string, message: string): HttpAnswer {
  return {
    status,
    body: { error: { code: status, message, errors: [{ message, domain: 'global', reason }] } },
  };
}
