import { EventEmitter } from 'node:events';
import { expect, test, vi } from 'vitest';
import { silentLogger } from './logger.ts';
import { type Closer, closeOnSignal, type SignalSource, together } from './shutdown.ts';

class FakeProcess extends EventEmitter implements SignalSource {
  readonly exits: number[] = [];

  exit(code: number): void {
    this.exits.push(code);
  }
}

function started(closers: readonly Closer[], deadlineMs = 1_000) {
  const source = new FakeProcess();
  const stop = closeOnSignal({ closers, deadlineMs, logger: silentLogger, source });
  return { source, stop };
}

test('closes in order, each after the one before, and exits with 0', async () => {
  const steps: string[] = [];
  const closer = (name: string): Closer => ({
    name,
    close: async () => {
      steps.push(`${name} begins`);
      await Promise.resolve();
      steps.push(`${name} ends`);
    },
  });
  const { source } = started([closer('http'), closer('log')]);
  source.emit('SIGTERM');
  await vi.waitFor(() => expect(source.exits).toEqual([0]));
  expect(steps).toEqual(['http begins', 'http ends', 'log begins', 'log ends']);
});

test('a closer that fails does not keep the next from closing, and shows in the exit code', async () => {
  let closed = false;
  const { source } = started([
    { name: 'http', close: () => Promise.reject(new Error('stuck')) },
    {
      name: 'log',
      close: () => {
        closed = true;
      },
    },
  ]);
  source.emit('SIGINT');
  await vi.waitFor(() => expect(source.exits).toEqual([1]));
  expect(closed).toBe(true);
});

test('exits when the deadline passes', async () => {
  const { source } = started([{ name: 'http', close: () => new Promise(() => undefined) }], 20);
  source.emit('SIGTERM');
  await vi.waitFor(() => expect(source.exits).toEqual([1]));
});

test.each([
  { second: 'SIGINT', code: 130 },
  { second: 'SIGTERM', code: 143 },
])('a second signal ($second) exits at once', ({ second, code }) => {
  const { source } = started([{ name: 'http', close: () => new Promise(() => undefined) }]);
  source.emit('SIGTERM');
  source.emit(second);
  expect(source.exits).toEqual([code]);
});

test('stops listening on request', () => {
  const { source, stop } = started([]);
  stop();
  expect(source.listenerCount('SIGTERM') + source.listenerCount('SIGINT')).toBe(0);
});

test('closers together begin at once, all end before the next begins, and one that fails shows', async () => {
  const steps: string[] = [];
  let end: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { source } = started([
    together(
      { name: 'http', close: () => Promise.reject(new Error('stuck')) },
      { name: 'bus', close: () => held.then(() => steps.push('bus ends')) },
    ),
    { name: 'log', close: () => steps.push('log ends') },
  ]);
  source.emit('SIGTERM');
  end();
  await vi.waitFor(() => expect(source.exits).toEqual([1]));
  expect(steps).toEqual(['bus ends', 'log ends']);
});
