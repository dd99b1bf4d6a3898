import type { Logger } from './logger.ts';

/** For operators: this process remembers a log that is gone. */
const LOG_WENT_BACK =
  'The log is not the one that this process has read: most likely it was restored from an older backup. ' +
  'Start this app again; it goes on from the log.';

export interface TailReports {
  readonly onReadFailed: (error: unknown) => void;
  /** Ends the process. */
  readonly onWentBack: () => void;
}

/** What an app says of its reading of the log. */
export function tailReports(logger: Logger): TailReports {
  return {
    onReadFailed: (error) => logger.warn('tail_read_failed', {}, error),
    onWentBack: () => {
      logger.error('log_went_back');
      process.stderr.write(`spillway: ${LOG_WENT_BACK}\n`);
      process.exit(1);
    },
  };
}
