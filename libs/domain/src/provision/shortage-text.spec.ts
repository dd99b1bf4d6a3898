import { expect, test } from 'vitest';
import { speaksOfShortage } from './shortage-text.ts';

const SHORT = 'The zone does not have enough resources available to fulfill the request.';
const compute = (message: string) =>
  JSON.stringify({
    error: { code: 500, message, errors: [{ message, domain: 'global', reason: 'backendError' }] },
  });

test.each([
  { reason: 'a plain text that says so', text: SHORT },
  { reason: 'one text of a JSON answer, whatever its frame is', text: compute(SHORT) },
  { reason: 'a quota is a shortage too', text: "Quota 'NVIDIA_H100_GPUS' exceeded. Limit: 8.0" },
  {
    reason: 'a problem body',
    text: JSON.stringify({
      title: 'Internal Server Error',
      status: 500,
      detail: 'There are no instances available',
    }),
  },
])('speaks of missing capacity: $reason', ({ text }) => {
  expect(speaksOfShortage({ code: null, text })).toBe(true);
});

test.each([
  { reason: 'a plain failure', text: 'Internal error' },
  { reason: 'a JSON answer without such a text', text: compute('Internal error') },
  {
    reason: "a gateway's page is not the provider's word",
    text: `\n<html><body>no capacity. ${SHORT}</body></html>`,
  },
  { reason: 'nothing was said', text: '' },
  { reason: 'JSON that holds no text', text: '{"status":500,"error":null}' },
])('does not: $reason', ({ text }) => {
  expect(speaksOfShortage({ code: null, text })).toBe(false);
});
