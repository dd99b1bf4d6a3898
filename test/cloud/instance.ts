import type { CloudLane } from './scripts.ts';

export type CloudState = 'queued' | 'provisioning' | 'running' | 'stopped' | 'error' | 'gone';

/** The mark that an instance carries, as far as it carries one. */
export interface CloudMark {
  readonly deployment: string | null;
  readonly allocation: string | null;
  readonly intent: string | null;
}

/** What runs on a machine. `log_age_s` and the phases are what a guest reports. */
export interface CloudGuest {
  phase: string;
  workloadStarted: boolean | null;
}

/** The agent on a pod: see apps/provisioner/src/lanes/pod-agent.ts. */
export interface CloudAgent {
  bootstrap: 'not_begun' | 'begun' | 'failed' | 'complete';
  workload: 'none' | 'running' | 'finished';
  result: 'done' | 'failed' | null;
  /** False = its port is open, and nobody answers. */
  answers: boolean;
}

/** One machine, whoever made it. Mutable: it is the world. */
export interface CloudInstance {
  readonly id: string;
  readonly lane: CloudLane;
  readonly name: string;
  /** Env of a pod; labels of a machine. */
  readonly labels: Readonly<Record<string, string>>;
  readonly mark: CloudMark;
  /** The create request as it was sent. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly createdAtMs: number;
  readonly costPerHourUsd: number;
  readonly zone: string | null;
  readonly pool: string | null;
  state: CloudState;
  locked: boolean;
  guest: CloudGuest | null;
  readonly agent: CloudAgent;
  logAgeS: number | null;
  port: boolean;
  /** Why a queued one waits, in the provider's words. */
  message: string | null;
  goneAtMs: number | null;
  billingSinceMs: number | null;
  billedMs: number;
}
