import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scaleOf, ticksOf } from './scale.ts';

const HOUR_MS = 3_600_000;
const story = fc.array(fc.integer({ min: 0, max: 400 * HOUR_MS }), { minLength: 1, maxLength: 60 });
const spacing = fc.constantFrom('fitted' as const, 'true' as const);

describe('a scale', () => {
  test('keeps the order of moments, spans the width, and can be read backwards', () => {
    fc.assert(
      fc.property(story, spacing, (moments, how) => {
        const scale = scaleOf(moments, 600, how);
        const sorted = [...new Set(moments)].sort((one, other) => one - other);
        const places = sorted.map((ms) => scale.toX(ms));
        expect(places[0]).toBe(0);
        if (sorted.length > 1) expect(places.at(-1)).toBeCloseTo(600, 6);
        for (const [index, x] of places.entries()) {
          if (index > 0) expect(x).toBeGreaterThanOrEqual(places[index - 1] ?? 0);
          expect(Math.abs(scale.toMs(x) - (sorted[index] ?? 0))).toBeLessThan(1);
        }
      }),
    );
  });

  test('clamps what lies outside of it', () => {
    const scale = scaleOf([1_000, 3_000], 100, 'true');
    expect([scale.toX(0), scale.toX(2_000), scale.toX(9_000)]).toEqual([0, 50, 100]);
    expect([scale.toMs(-5), scale.toMs(50), scale.toMs(500)]).toEqual([1_000, 2_000, 3_000]);
  });

  test('fitted, a long silence leaves room for the seconds in which everything happens', () => {
    const moments = [0, 1_000, 2_000, 24 * HOUR_MS];
    expect(scaleOf(moments, 600, 'true').toX(2_000)).toBeLessThan(1);
    expect(scaleOf(moments, 600, 'fitted').toX(2_000)).toBeGreaterThan(60);
  });

  test('a story of one moment is no division by nothing', () => {
    expect(scaleOf([5], 600, 'fitted').toX(5)).toBe(0);
    expect(scaleOf([], 600, 'fitted').toX(5)).toBe(3);
  });
});

test('times are written apart from each other, and never twice the same', () => {
  fc.assert(
    fc.property(story, (moments) => {
      const scale = scaleOf(moments, 600, 'fitted');
      const ticks = ticksOf(scale, moments, 80);
      expect(ticks.length).toBeGreaterThan(0);
      for (const [index, { x, ms }] of ticks.entries()) {
        const before = ticks[index - 1];
        if (before === undefined) continue;
        expect(x - before.x).toBeGreaterThanOrEqual(80);
        expect(Math.floor(ms / 1_000)).toBeGreaterThan(Math.floor(before.ms / 1_000));
      }
    }),
  );
});
