import type { RelayStatus } from '#domain/bus';
import type { Logger } from './logger.ts';

/**
 * Writes what the relay reports. A refusal ends the relaying until a person acts, so its repair is printed whole
 * on standard error: it is made of our own names and hashes.
 */
export function relayReports(logger: Logger): (status: RelayStatus) => void {
  let wasUp = false;
  return (status) => {
    switch (status.state) {
      case 'idle':
      case 'relaying':
        if (!wasUp) logger.info('relay_up');
        wasUp = true;
        return;
      case 'full':
        logger.warn('bus_full');
        return;
      case 'down':
        // At a start it is down until the first connection.
        if (wasUp) logger.warn('relay_down', { reason: status.reason });
        wasUp = false;
        return;
      case 'foreign_stream':
        logger.error('bus_holds_another_log', { logId: status.ourLogId });
        process.stderr.write(`spillway: ${status.repair}\n`);
        return;
      case 'bus_forked':
        logger.error('bus_forked', { pos: status.pos });
        process.stderr.write(`spillway: ${status.repair}\n`);
    }
  };
}
