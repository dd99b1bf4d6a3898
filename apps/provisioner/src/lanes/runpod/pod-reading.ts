import type { GuestPhase, InstanceReading } from '#domain/provision/lane';
import type { AgentReply, AgentStatus } from '../pod-agent.ts';
import { instanceOf, type Pod } from './pod.ts';

/**
 * One poll of a pod (failover 2.2): what the provider shows, and what its agent says. `status` is null when
 * the agent could not be asked at all. An agent that does not answer is a matter of transport; what it would
 * have said stays unknown.
 */
export function readingOf(pod: Pod, port: boolean, status: AgentReply | null): InstanceReading {
  const known = status?.kind === 'ok' ? status.status : null;
  return {
    instance: instanceOf(pod),
    guest: known === null ? null : { phase: phaseOf(known), workloadStarted: known.workload !== 'none' },
    alarm: status?.kind === 'failed' ? 'transport' : 'none',
    logAgeS: known?.log_age_s ?? null,
    port,
  };
}

function phaseOf({ bootstrap, workload, result }: AgentStatus): GuestPhase {
  if (workload === 'running') return 'workload';
  // A result that cannot be read is neither a success nor a failure yet.
  if (workload === 'finished') return result ?? 'finalizing';
  return bootstrap === 'not_begun' ? 'boot' : 'setup';
}
