import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CrashStack } from './crash-stack.ts';

const CUTS = 20;

describe('a network that cuts after COMMIT', () => {
  let stack: CrashStack;
  beforeAll(async () => {
    stack = await CrashStack.start({ proxied: true });
  });
  afterAll(() => stack?.remove());

  test('pitfall 5: the apps lose answers again and again: no duplicate, no false conflict', async () => {
    const report = await stack.underLoad(async () => {
      for (let cut = 0; cut < CUTS; cut += 1) await stack.proxy.loseNextReply();
    });
    expect(report.unanswered).toEqual([]);
    await stack.prove();
    await stack.relayed();
    await stack.proveCleanEnd();
  });
});
