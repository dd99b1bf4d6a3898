import type { RelayStatus } from '#domain/bus';
import type { TailVerdict } from './bus-tail.ts';
import type { TopologyRefused } from './ensure-topology.ts';
import type { Topology } from './topology.ts';

/** The stream ends with another log, or with another history of ours. */
export function refusedStatus(
  verdict: Exclude<TailVerdict, { readonly kind: 'start' }>,
  topology: Topology,
): RelayStatus {
  const { eventStream, deployment } = topology;
  switch (verdict.kind) {
    case 'foreign_stream':
      return {
        state: 'foreign_stream',
        ourLogId: verdict.ourLogId,
        theirLogId: verdict.theirLogId,
        repair:
          `The stream ${eventStream} holds the log ${verdict.theirLogId}, not ours (${verdict.ourLogId}). ` +
          `If another deployment uses it, give one of them another name than '${deployment}'. If that log is ` +
          `gone for good, delete the stream (nats stream rm ${eventStream}): it is filled again from the log.`,
      };
    case 'bus_forked':
      return {
        state: 'bus_forked',
        pos: verdict.pos,
        repair:
          `The stream ${eventStream} holds position ${verdict.pos} with hash ${verdict.busHash16}; ` +
          `${verdict.logHash16 === null ? `the log ends at ${verdict.headPos}` : `the log has ${verdict.logHash16} there`}. ` +
          'Most likely the log was restored from an older backup. Consumers go on from the log; nothing is ' +
          'relayed. If this log is the one to keep, finish the restore, then delete the stream ' +
          `(nats stream rm ${eventStream}): it is filled again from the log.`,
      };
  }
}

/** The stream could not be created as ours. */
export function refusedBy(error: TopologyRefused, ourLogId: string, topology: Topology): RelayStatus {
  const theirs = error.otherStreams.length === 0 ? error.stream : error.otherStreams.join(', ');
  return {
    state: 'foreign_stream',
    ourLogId,
    theirLogId: theirs,
    repair:
      error.reason === 'subjects_taken'
        ? `The subjects ${topology.eventSubjects} belong to the stream ${theirs}. Give this deployment another prefix.`
        : `The stream ${error.stream} was made with another retention or storage. If it is not in use, delete ` +
          `it (nats stream rm ${error.stream}): it is made again.`,
  };
}
