import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CrashStack } from './crash-stack.ts';

describe('kill -9 of processes under load', () => {
  let stack: CrashStack;
  beforeAll(async () => {
    stack = await CrashStack.start();
  });
  afterAll(() => stack?.remove());

  test.for(['ingest', 'classifier', 'consent'] as const)('%s is killed and started again', async (app) => {
    const report = await stack.underLoad(async () => {
      const running = stack.apps.processes[app];
      expect(await running.kill()).toBe('SIGKILL');
      await running.start();
    });
    expect(report.unanswered).toEqual([]);
    await stack.prove();
    await stack.relayed();
    await stack.ready(app);
  });

  test('all of PostgreSQL is killed and started again', async () => {
    await stack.underLoad(async () => {
      await stack.postgres.kill();
      await stack.postgres.restart();
    });
    await stack.prove();
    await stack.relayed();
    for (const app of ['ingest', 'classifier', 'consent'] as const) await stack.ready(app);
  });

  test('pitfall 5: connections are cut after COMMIT, again and again: no duplicate, no false conflict', async () => {
    const report = await stack.underLoad(async () => {
      for (let cut = 0; cut < 20; cut += 1) await stack.proxy.loseNextReply();
    });
    expect(report.answered.every(({ status }) => status === 200)).toBe(true);
    await stack.prove();
    await stack.relayed();
  });

  test('at the end every app closes on SIGTERM with code 0', async () => {
    await stack.proveCleanEnd();
  });
});
