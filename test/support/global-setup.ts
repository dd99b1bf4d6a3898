import type { TestProject } from 'vitest/node';
import { acquireSharedInfra, releaseSharedInfra, type SharedInfra } from './shared-infra.ts';

declare module 'vitest' {
  interface ProvidedContext {
    infra: SharedInfra;
  }
}

/** Runs once for each vitest project that names it; the servers behind it are started once for all. */
export async function setup(project: TestProject): Promise<void> {
  project.provide('infra', await acquireSharedInfra());
}

export async function teardown(): Promise<void> {
  await releaseSharedInfra();
}
