/** Every bound of a worker, with its unit. */
export interface WorkerBounds {
  /** Events decided in memory and appended in one call. */
  readonly batchMax: number;
  /** Events, and deliveries of the bus, kept ahead of the checkpoint; what is beyond it is read later. */
  readonly bufferMax: number;
  readonly handlerDeadlineMs: number;
  /** Tries of one event before its allocation is parked. */
  readonly triesMax: number;
  /** Events that changed nothing move the stored checkpoint at least this often. */
  readonly lazyCheckpointMs: number;
  /** What the bus has told and the tail has not: looked for in the log after so long. */
  readonly newsAfterMs: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
}

export const WORKER_BOUNDS: WorkerBounds = {
  batchMax: 64,
  bufferMax: 2_048,
  handlerDeadlineMs: 10_000,
  triesMax: 5,
  lazyCheckpointMs: 500,
  newsAfterMs: 100,
  retryMinMs: 20,
  retryMaxMs: 2_000,
};
