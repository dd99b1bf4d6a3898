import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { CrashStack } from './crash-stack.ts';

const CUTS = 15;
const ANSWERED_BETWEEN = 10;

describe('a network that cuts after COMMIT', () => {
  let stack: CrashStack;
  beforeAll(async () => {
    stack = await CrashStack.start({ proxied: true });
  });
  afterAll(() => stack?.remove());

  test('pitfall 5: the apps lose answers again and again: no duplicate, no false conflict', async () => {
    const report = await stack.underLoad(async (load) => {
      for (let cut = 0; cut < CUTS; cut += 1) {
        const before = load.answered();
        await stack.proxy.loseNextReply();
        // Every app is at work again before the next one, so that it is often an append whose reply is lost.
        await waitUntil(
          'attempts are answered again',
          30_000,
          () => load.answered() > before + ANSWERED_BETWEEN,
        );
      }
    });
    expect(report.unanswered).toEqual([]);
    await stack.prove();
    await stack.relayed();
    await stack.proveCleanEnd();
  });
});
