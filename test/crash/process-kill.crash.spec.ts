import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppProcess } from '../../tools/up/app-process.ts';
import { CrashStack } from './crash-stack.ts';

describe('kill -9 of processes under load', () => {
  let stack: CrashStack;
  beforeAll(async () => {
    stack = await CrashStack.start();
  });
  afterAll(() => stack?.remove());

  test.for(['ingest', 'classifier', 'consent'] as const)('%s is killed and started again', async (app) => {
    await stack.underLoad(async () => {
      const running = stack.apps.processes[app];
      expect(await running.kill()).toBe('SIGKILL');
      await running.start();
    });
    await stack.prove();
    await stack.relayed();
    await stack.ready(app);
  });

  test('all of PostgreSQL is killed and started again', async () => {
    await stack.underLoad(() => stack.crashPostgres());
    await stack.prove();
    await stack.relayed();
    for (const app of ['ingest', 'classifier', 'consent'] as const) await stack.ready(app);
  });

  test('what an app writes can be lost with a full disk: whoever started it goes on and is told how it ended', async () => {
    const app = new AppProcess({ app: 'classifier', port: 0, env: {}, logFile: '/dev/full' });
    await expect(app.start()).rejects.toThrow('classifier ended with code 1');
  });

  test('at the end every app closes on SIGTERM with code 0', async () => {
    await stack.proveCleanEnd();
  });
});
