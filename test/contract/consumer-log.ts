import type { Log } from '#domain/log-tables';

export interface ConsumerLog {
  readonly log: Log;
  /** Sets a stored checkpoint to an earlier position, as an operator may. */
  setBack(consumer: string, partition: number, pos: number): Promise<void>;
  close(): Promise<void>;
}
