import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROJECT } from '../architecture/planted-tree.ts';
import { seriousFindings } from './accessibility.ts';
import { DESKTOP, describeInBrowser, type Look, PHONE, withBrowser } from './browser.ts';
import { closed, failoverQuestion, inS, LOCAL, OTHER_REF, poolQuestion } from './page-questions.ts';
import { PageServer } from './page-server.ts';

const FOLDER = join(PROJECT, 'test-results/screenshots');

const LOOKS: Readonly<Record<string, Look>> = {
  light: DESKTOP,
  dark: { ...DESKTOP, dark: true },
  phone: PHONE,
};

interface View {
  readonly view: string;
  readonly path: string;
  /** Shown when the view is complete. */
  readonly shows: string;
  readonly enter?: (page: Page) => Promise<void>;
}

const VIEWS: readonly View[] = [
  { view: 'questions', path: '/', shows: '2 questions to answer' },
  {
    view: 'accept-dialog',
    path: '/',
    shows: '2 questions to answer',
    enter: async (page) => page.getByRole('button', { name: 'Accept…' }).first().click(),
  },
  { view: 'question', path: '/prompts/evt-pool-3f9c2a71d8', shows: 'The identical allocation' },
  { view: 'question-closed', path: '/prompts/c1', shows: 'declined' },
  { view: 'history', path: '/history', shows: 'Expired unanswered' },
  { view: 'allocation', path: `/allocations/${OTHER_REF}`, shows: 'Bills now' },
  { view: 'allocation-as-of', path: `/allocations/${OTHER_REF}?at=93`, shows: 'Billed then' },
  { view: 'overview', path: '/overview', shows: 'How far each app is' },
  { view: 'not-found', path: '/prompts/none', shows: 'There is no such thing as this question' },
];

/** At every picture, so that one that is too wide only at first counts. Not of `innerWidth`: a phone zooms out until everything fits. */
const rememberWidest = `
  globalThis.widest = 0;
  const look = () => {
    globalThis.widest = Math.max(globalThis.widest, document.documentElement?.scrollWidth ?? 0);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);`;

describeInBrowser('every view in every look', () => {
  const windows = withBrowser();
  const server = new PageServer();
  beforeAll(async () => {
    mkdirSync(FOLDER, { recursive: true });
    server.set(poolQuestion());
    server.set(failoverQuestion());
    server.set(
      closed(poolQuestion({ id: 'c1', name: 'team-c/eval-3' }), { how: 'declined', by: 'caller 8d1f02aa…' }),
    );
    server.set(
      closed(poolQuestion({ id: 'c2', name: null, invariants: null }), {
        how: 'superseded',
        by: null,
        why: 'A newer question took its place.',
      }),
    );
    server.set(
      poolQuestion({
        id: 'x1',
        name: 'team-d/sweep-12',
        state: 'expired',
        askedAt: inS(-90_000),
        expiresAt: inS(-3_600),
      }),
    );
    server.caller = { ...LOCAL };
    await server.start();
  });
  afterAll(() => server.stop());

  test.each(Object.entries(LOOKS))(
    '%s: every view fits, and axe finds nothing serious',
    async (look, how) => {
      const page = await windows.open(server.url, { ...how, bypassPolicy: true });
      const findings: string[] = [];
      await page.addInitScript(rememberWidest);
      for (const { view, path, shows, enter } of VIEWS) {
        await page.goto(`${server.url}${path}`);
        await page.getByText(shows).first().waitFor();
        await enter?.(page);
        await page.screenshot({
          path: join(FOLDER, `${view}-${look}.png`),
          fullPage: enter === undefined,
        });
        const wide = await page.evaluate('globalThis.widest');
        if (wide !== how.width) findings.push(`${view} is ${wide} px wide of ${how.width}`);
        findings.push(...(await seriousFindings(page)).map((finding) => `${view}: ${finding}`));
      }
      expect(findings).toEqual([]);
    },
  );
});
