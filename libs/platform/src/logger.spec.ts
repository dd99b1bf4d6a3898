import { describe, expect, test } from 'vitest';
import { createLogger, frameworkLogger } from './logger.ts';

const CALLER_TEXT = 'team-a/finetune-7 acct-secret-7171';

function recording(level: 'debug' | 'info' = 'debug', now: () => number = () => performance.now()) {
  const lines: string[] = [];
  const logger = createLogger({
    app: 'ingest',
    deployment: 'local',
    level,
    now,
    destination: { write: (line: string) => void lines.push(line) },
  });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') };
}

test('a line says when, where and what', () => {
  const { logger, last } = recording();
  logger.info('relay_caught_up', { pos: 12, outcome: 'appended', eventType: 'AttemptReported' });
  expect(last()).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    app: 'ingest',
    deployment: 'local',
    event: 'relay_caught_up',
    pos: 12,
    outcome: 'appended',
    eventType: 'AttemptReported',
  });
});

test('a level below the least is not printed', () => {
  const { logger, lines } = recording('info');
  logger.debug('woke');
  expect(lines).toEqual([]);
});

describe('does not print caller text', () => {
  const smuggled = JSON.parse(
    JSON.stringify({
      ref: CALLER_TEXT,
      eventId: CALLER_TEXT,
      count: CALLER_TEXT,
      [CALLER_TEXT]: 1,
      name: CALLER_TEXT,
      toString: CALLER_TEXT,
      constructor: CALLER_TEXT,
    }),
  );

  test('in a field, when the types were got round', () => {
    const { logger, lines, last } = recording();
    logger.info('attempt_taken', { ...smuggled, reason: 'suppressed' });
    expect(lines.join()).not.toContain('acct-secret');
    expect(last()).toMatchObject({ ref: '[withheld]', eventId: '[withheld]', count: '[withheld]' });
  });

  test('as the name of the event', () => {
    const { logger, lines } = recording();
    logger.info(CALLER_TEXT);
    expect(lines.join()).not.toContain('acct-secret');
  });

  test('as an error, its name, its cause or a thrown text', () => {
    const { logger, lines } = recording();
    const error = new Error(CALLER_TEXT, { cause: new TypeError(CALLER_TEXT) });
    logger.error('append_failed', {}, error);
    logger.warn('append_failed', {}, error);
    logger.error('append_failed', {}, CALLER_TEXT);
    logger.error(
      'append_failed',
      {},
      Object.assign(new Error('x'), {
        name: CALLER_TEXT,
        toString: CALLER_TEXT,
        constructor: CALLER_TEXT,
        code: CALLER_TEXT,
      }),
    );
    expect(lines).toHaveLength(4);
    expect(lines.join()).not.toContain('acct-secret');
  });

  test('in a message that imitates a place in the code', () => {
    const { logger, lines } = recording();
    logger.error('append_failed', {}, new Error('x\n    at acct-secret-7171 (/acct-secret-7171.ts:1:1)'));
    const renamed = new Error('first');
    renamed.message = 'acct-secret-7171';
    renamed.stack = `Error: x\n    at f (/acct-secret-7171.ts:1:1)`;
    logger.error('append_failed', {}, renamed);
    expect(lines.join()).not.toContain('acct-secret');
  });

  test('through the framework', () => {
    const { logger, lines } = recording();
    const framework = frameworkLogger(logger);
    framework.warn();
    framework.error(CALLER_TEXT);
    framework.error(new Error(CALLER_TEXT));
    expect(lines).toHaveLength(3);
    expect(lines.join()).not.toContain('acct-secret');
  });
});

test('words that could be anything do not compile', () => {
  const { logger, lines } = recording();
  const anything: string = CALLER_TEXT;
  // @ts-expect-error a plain string is no closed set
  logger.info('refused', { reason: anything });
  const known: 'suppressed' | 'tracking' = 'suppressed';
  logger.info('refused', { reason: known });
  expect(lines).toHaveLength(2);
  expect(lines.join()).not.toContain('acct-secret');
});

test('of an error of ours the class, the code and the places are printed', () => {
  class LaneError extends Error {
    override readonly name = 'LaneError';
    readonly failure = 'outcome-unknown';
  }
  const { logger, last } = recording();
  logger.error('create_failed', { count: 1 }, new LaneError(CALLER_TEXT));
  expect(last().error).toEqual({
    class: 'LaneError',
    code: 'outcome-unknown',
    frames: expect.arrayContaining([expect.stringContaining('logger.spec.ts')]),
  });

  logger.warn('connect_failed', {}, Object.assign(new Error('connect 10.0.0.1'), { code: 'ECONNREFUSED' }));
  expect(last().error).toEqual({ class: 'Error', code: 'ECONNREFUSED' });
});

describe('a fault of the world that lasts', () => {
  const full = () => Object.assign(new Error(CALLER_TEXT), { code: '53300' });

  test('is one line in ten seconds, which counts those that were left out', () => {
    const clock = { nowMs: 0 };
    const { logger, lines, last } = recording('debug', () => clock.nowMs);
    for (; clock.nowMs < 10_000; clock.nowMs += 100) logger.warn('log_fault', {}, full());
    expect(lines).toHaveLength(1);
    expect(last()).not.toHaveProperty('repeats');
    logger.warn('log_fault', {}, full());
    expect(lines).toHaveLength(2);
    expect(last()).toMatchObject({ event: 'log_fault', repeats: 99, error: { code: '53300' } });
  });

  test('hides no other line: another event, place, error or cause, and no line without an error', () => {
    const { logger, lines } = recording('debug', () => 0);
    logger.warn('log_fault', {}, full());
    logger.warn('tail_read_failed', {}, full());
    logger.warn('log_fault', { partition: 1 }, full());
    logger.warn('log_fault', {}, Object.assign(new Error('x'), { code: '25006' }));
    logger.warn('log_fault', {}, new Error('x', { cause: full() }));
    expect(lines).toHaveLength(5);
    for (let line = 0; line < 3; line += 1) logger.warn('allocation_parked', { pos: 1 });
    for (let line = 0; line < 3; line += 1) logger.error('handler_failed', {}, full());
    expect(lines).toHaveLength(11);
  });
});
