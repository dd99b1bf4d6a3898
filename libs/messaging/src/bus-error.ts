import { JetStreamApiError } from '@nats-io/jetstream';

/**
 * What a failed call to the broker means for us. Switch on it; the broker's own text may quote what others
 * published and is shown to nobody.
 */
export type BusFault =
  | 'missing_stream'
  | 'missing_consumer'
  | 'wrong_last'
  | 'full'
  | 'subjects_taken'
  | 'incompatible'
  | 'unavailable';

/** The broker's err_code, a row each. What is not listed is `unavailable`: wait and try again. */
const FAULT_BY_CODE: ReadonlyMap<number, BusFault> = new Map([
  [10014, 'missing_consumer'],
  [10059, 'missing_stream'],
  [10060, 'wrong_last'], // expected stream does not match
  [10070, 'wrong_last'], // wrong last message id
  [10071, 'wrong_last'], // wrong last sequence
  [10164, 'wrong_last'], // wrong last sequence, newer servers
  [10023, 'full'], // insufficient resources
  [10028, 'full'], // insufficient memory
  [10047, 'full'], // insufficient storage
  [10054, 'full'], // a message above the stream's own limit
  [10077, 'full'], // the store refused: maximum bytes or messages reached under discard new
  [10012, 'incompatible'], // a consumer of this name starts elsewhere
  [10052, 'incompatible'], // a stream setting that this server refuses
  [10058, 'incompatible'], // a stream of this name with another config
  [10148, 'incompatible'], // a consumer of this name with another config
  [10065, 'subjects_taken'], // subjects overlap with another stream
  [10100, 'subjects_taken'], // another durable of the work queue has this filter
]);

/** Thrown instead of the client's error when there is no connection to ask. */
export class BusDown extends Error {
  override readonly name = 'BusDown';
}

export function faultOfCode(errCode: number): BusFault {
  return FAULT_BY_CODE.get(errCode) ?? 'unavailable';
}

/** Never throws: whatever was thrown by a call to the broker gets a name. */
export function faultOf(error: unknown): BusFault {
  if (error instanceof JetStreamApiError) return faultOfCode(error.code);
  // "No responders" on a publish reads as JetStream switched off, but is what a missing stream looks like.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled') return 'missing_stream';

  return 'unavailable';
}
