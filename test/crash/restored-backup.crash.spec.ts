import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { withManager } from '../integration/bus-kit.ts';
import { CrashStack, EVENT_STREAM } from './crash-stack.ts';

const LOAD_SECONDS = 3;
const NOTICED_BOUND_MS = 60_000;
const TAILING = ['ingest', 'classifier', 'consent'] as const;

describe('PostgreSQL restored to an older backup under a running bus', () => {
  let stack: CrashStack;
  let oldHead = 0;
  beforeAll(async () => {
    stack = await CrashStack.start();
  });
  afterAll(() => stack?.remove());

  const someLoad = () => stack.underLoad(async () => {}, LOAD_SECONDS);

  async function said(app: string, what: string): Promise<void> {
    await waitUntil(`${app} says ${what}`, NOTICED_BOUND_MS, async () => {
      return (await stack.logOf(app)).includes(what);
    });
  }

  test('apps that remember what the log has forgotten say so and end', async () => {
    await someLoad();
    await stack.prove();
    await stack.postgres.stop();
    await stack.copyData();
    await stack.restartPostgres();
    await someLoad();
    await stack.prove();
    await stack.relayed();
    oldHead = (await stack.log.head()).pos;

    await stack.postgres.stop();
    await stack.restoreData();
    await stack.restartPostgres();
    stack.forgetLoads();
    await waitUntil('all of them have ended', NOTICED_BOUND_MS, () =>
      TAILING.every((app) => stack.apps.processes[app].ended !== null),
    );
    for (const app of TAILING) await said(app, 'Start this app again');
    expect([...stack.unexpected].sort()).toEqual(['classifier: code 1', 'consent: code 1', 'ingest: code 1']);
    expect((await stack.log.head()).pos).toBeLessThan(oldHead);
  });

  test('pitfall 24: started again they go on from the log, and the relay stops and prints the repair', async () => {
    for (const app of TAILING) await stack.apps.processes[app].start();
    await someLoad();
    await stack.prove(false);
    await waitUntil('the relay says why it stopped', NOTICED_BOUND_MS, async () => {
      const texts = await Promise.all(TAILING.map((app) => stack.logOf(app)));
      return texts.some((text) => text.includes(`nats stream rm ${EVENT_STREAM}`));
    });
  });

  test('pitfall 24: also after the log has grown past what the bus holds, no foreign message changes anything', async () => {
    while ((await stack.log.head()).pos <= oldHead + 100) await someLoad();
    await stack.prove(false);
    await expect(stack.relayed(1_000)).rejects.toThrow('the bus ends at');
  });

  test('after the repair the bus is filled from the log, and every app closes with code 0', async () => {
    await withManager(stack.nats.port, (manager) => manager.streams.delete(EVENT_STREAM));
    await stack.relayed();
    await someLoad();
    await stack.prove(false);
    await stack.relayed();
    expect(await stack.apps.stop()).toEqual(stack.apps.started.map(() => 'code 0'));
  });
});
