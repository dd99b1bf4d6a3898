import type { TestProject } from 'vitest/node';
import { type Chromium, findChromium } from './chromium.ts';

declare module 'vitest' {
  interface ProvidedContext {
    chromium: Chromium;
  }
}

/** Runs once for the project: each spec file is told which browser there is, or why there is none. */
export async function setup(project: TestProject): Promise<void> {
  project.provide('chromium', await findChromium());
}
