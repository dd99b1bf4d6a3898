import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../../tools/up/infra/chain.ts';
import { describeInBrowser, withBrowser } from './browser.ts';
import { closed, failoverQuestion, inS, LOCAL, OTHER_REF, poolQuestion } from './page-questions.ts';
import { PageServer } from './page-server.ts';
import { movedAllocation, overview } from './page-views.ts';

describeInBrowser('the page, over states that a test makes up', () => {
  const windows = withBrowser();
  const server = new PageServer();
  beforeAll(() => server.start());
  beforeEach(() => server.forget());
  afterAll(() => server.stop());
  const open = (path = '/') => windows.open(`${server.url}${path}`);
  /** A window that hears the stream. */
  const listening = async (path = '/') => {
    const before = server.streamsOpened;
    const page = await open(path);
    await waitUntil('the page listens', 10_000, () => server.streamsOpened > before);
    return page;
  };
  const cards = (page: Page) => page.getByRole('article');

  describe('what a caller may see', () => {
    test.each([
      { reason: 'not for this caller', name: undefined, shows: 'name hidden' },
      { reason: 'erased', name: null, shows: 'name erased' },
    ])('a name that is $reason is never guessed', async ({ name, shows }) => {
      const { name: _, ...nameless } = poolQuestion();
      server.set(name === undefined ? nameless : { ...nameless, name });
      const page = await open();
      expect(await cards(page).locator('.name').textContent()).toBe(`${shows}7c1f0e6b5d…`);
    });

    test('invariants that are sealed or erased are said to be so', async () => {
      const { invariants: _, ...sealed } = poolQuestion({ id: 'sealed' });
      server.set(sealed);
      server.set(poolQuestion({ id: 'erased', invariants: null, askedAt: inS(-500) }));
      const page = await open();
      await cards(page).first().getByText('You may not see the values: they are sealed.').waitFor();
      await cards(page).last().getByText('The values were erased.').waitFor();
    });

    test('who may not answer has nothing to press, and is told which right it takes', async () => {
      server.set(poolQuestion());
      server.caller = { subject: 'a1b2', authenticated: true, may: { ...LOCAL.may, consent: false } };
      const page = await open();
      await cards(page).getByText('takes the right “consent”').waitFor();
      expect(await cards(page).getByRole('button').count()).toBe(0);
      expect(await page.getByText('Authentication is off').count()).toBe(0);
    });

    test('with authentication off everybody is told', async () => {
      const page = await open('/history');
      const banner = page.getByRole('complementary', { name: 'Authentication' });
      expect(await banner.textContent()).toBe(
        'Authentication is off: everyone here is local and may do everything.',
      );
    });
  });

  describe('open questions', () => {
    test('a question says everything that is needed to answer it', async () => {
      const prompt = failoverQuestion({ invariants: poolQuestion().invariants ?? null });
      server.set(prompt);
      const page = await open();
      const text = await cards(page).textContent();
      const said = [
        prompt.asks,
        prompt.differs.from,
        prompt.differs.to,
        prompt.why.sentence,
        prompt.buys,
        '$2.49 per hour',
        'min',
        'left',
        ...prompt.onYes,
        ...prompt.onNo,
        ...prompt.attempts.map(({ what }) => what),
        ...(prompt.invariants ?? []).map(({ member }) => member.replaceAll('_', ' ')),
      ];
      expect(said.filter((part) => text?.includes(part) !== true)).toEqual([]);
    });

    test('its life time runs out before the eyes, and it goes to history as expired', async () => {
      server.set(poolQuestion({ expiresAt: inS(3) }));
      const page = await open();
      await cards(page).getByText('s left').waitFor();
      await cards(page).waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'One question expired unanswered.' }).click();
      await page.getByRole('heading', { name: 'Expired unanswered' }).waitFor();
    });

    test('a renewal takes the place of what it renews', async () => {
      const first = poolQuestion({ id: 'first', expiresAt: inS(60) });
      server.set(first);
      const page = await listening();
      server.tell({ ...first, id: 'second', expiresAt: inS(3_600) });
      await cards(page).getByText('59 min').waitFor();
      expect(await cards(page).count()).toBe(1);
      expect(
        await cards(page).getByRole('heading', { level: 2 }).getByRole('link').getAttribute('href'),
      ).toBe('/prompts/second');
    });

    test('an answer whose reply was lost is sent again as the same one', async () => {
      server.set(poolQuestion());
      const page = await open();
      const ids: (string | undefined)[] = [];
      await page.route('**/answer', (route) => {
        ids.push(route.request().headers()['idempotency-key']);
        return ids.length === 1 ? route.abort() : route.continue();
      });
      const decline = cards(page).getByRole('button', { name: 'Decline' });
      await decline.click();
      await cards(page).getByText('may not have arrived').waitFor();
      await decline.click();
      await page.getByText('You declined').waitFor();
      expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
      expect(ids[1]).toBe(ids[0]);
    });

    test('the dialog keeps the focus, Escape sends nothing, and the focus comes back', async () => {
      server.set(poolQuestion());
      const page = await open();
      await cards(page).getByRole('button', { name: 'Accept…' }).focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Accept this, and buy it?' });
      await dialog.waitFor();
      for (let stops = 0; stops < 5; stops += 1) {
        await page.keyboard.press('Tab');
        expect(await cards(page).locator('> :focus, .options :focus').count()).toBe(0);
      }
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.locator('button:focus', { hasText: 'Accept…' }).waitFor();
      expect(server.sent).toEqual([]);
    });

    test('a question that opens is announced to who cannot see it', async () => {
      const page = await listening();
      server.tell(poolQuestion());
      await page
        .locator('[aria-live=polite]', { hasText: 'New question about team-a/finetune-7.' })
        .waitFor();
    });

    test('a stream that is refused is tried again until it is there', async () => {
      server.failing = { path: /stream$/, status: 502 };
      const page = await open();
      await page.getByText('Connection lost.').waitFor();
      server.failing = null;
      server.set(poolQuestion());
      await cards(page).waitFor();
      await page.getByText('Connection lost.').waitFor({ state: 'detached' });
    });

    test('what cannot be loaded says so, and can be asked for again', async () => {
      server.failing = { path: /^\/api\/prompts\/one$/, status: 503 };
      server.set(poolQuestion({ id: 'one' }));
      const page = await open('/prompts/one');
      await page.getByRole('alert').getByText('The log cannot be reached just now.').waitFor();
      server.failing = null;
      await page.getByRole('button', { name: 'Try again' }).click();
      await cards(page).waitFor();
    });

    test('the first stop of the keyboard leads to the content', async () => {
      const page = await open();
      await page.getByText('Nothing waits for an answer').waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      expect(await page.evaluate('document.activeElement.id')).toBe('main');
    });
  });

  describe('history', () => {
    test('tells how each question ended, by whom and why', async () => {
      server.set(closed(poolQuestion({ id: 'a' }), { how: 'declined', by: 'caller 8d1f02aa…' }));
      server.set(
        closed(poolQuestion({ id: 'b' }), { how: 'withdrawn', by: null, why: 'The request changed.' }),
      );
      const page = await open('/history');
      const rows = page.getByRole('listitem');
      await rows.filter({ hasText: 'declined' }).getByText('by caller 8d1f02aa…').waitFor();
      await rows.filter({ hasText: 'withdrawn' }).getByText('The request changed.').waitFor();
    });
  });

  describe('an allocation', () => {
    test('the slider and the steps show the state as of any moment, and the address carries it', async () => {
      const page = await open(`/allocations/${OTHER_REF}`);
      await page.getByText('Bills now: 1 machine').waitFor();
      const slider = page.getByRole('slider');
      await slider.fill('0');
      await page.getByText('Billed then').waitFor();
      expect(new URL(page.url()).searchParams.get('at')).toMatch(/^\d{4}-.*Z$/);
      expect(await slider.getAttribute('aria-valuetext')).toContain('asked for a launch');

      await page.getByRole('button', { name: /^After/ }).click();
      await page.getByRole('button', { name: /^After/ }).click();
      expect(new URL(page.url()).searchParams.get('at')).toBe('82');
      await page.getByText('kq7w2m5xpl…').first().waitFor();

      await slider.fill('1000');
      await page.getByText('Bills now: 1 machine').waitFor();
      expect(new URL(page.url()).search).toBe('');
    });

    test('own state stands beside what the provider says, also where they differ', async () => {
      const page = await open(`/allocations/${OTHER_REF}?at=94`);
      await page.getByText('awaiting consent', { exact: true }).waitFor();
      await page.getByText('not found', { exact: true }).waitFor();
    });

    test('reports that changed nothing are folded, and open for the one that is looked at', async () => {
      const page = await open(`/allocations/${OTHER_REF}`);
      const quiet = page.getByText('4 reports in a row changed nothing');
      await quiet.waitFor();
      expect(await page.locator('details.quiet').getAttribute('open')).toBeNull();
      await page.goto(`${server.url}/allocations/${OTHER_REF}?at=86`);
      await page.locator('details.quiet[open]').waitFor();
    });

    test('an erased one says so', async () => {
      server.allocation = movedAllocation({ name: null, erased: true });
      const page = await open(`/allocations/${OTHER_REF}`);
      await page.getByRole('heading', { level: 1, name: /name erased/ }).waitFor();
      await page.getByText('name and texts erased').waitFor();
    });
  });

  describe('the overview', () => {
    test.each([
      { button: 'Requeue…', yes: 'Yes, requeue', path: '/api/parked/requeue' },
      { button: 'Skip…', yes: 'Yes, skip it', path: '/api/parked/skip' },
    ])('$button asks once more before $path is called', async ({ button, yes, path }) => {
      const page = await open('/overview');
      await page.getByRole('button', { name: button }).click();
      expect(server.sent).toEqual([]);
      await page.getByRole('dialog').getByRole('button', { name: yes }).click();
      await page.getByRole('status').getByText('event 47312.').waitFor();
      expect(server.sent).toEqual([
        { path, body: { consumer: 'classifier', ref: OTHER_REF, first_pos: 47_312 } },
      ]);
    });

    test('who may not operate reads, and has nothing to press', async () => {
      server.caller = { ...LOCAL, may: { ...LOCAL.may, operate: false } };
      const page = await open('/overview');
      await page.getByText('take the right “operate”').waitFor();
      expect(await page.getByRole('button', { name: 'Skip…' }).count()).toBe(0);
    });

    test('filters go into the address and into the call', async () => {
      const page = await open('/overview');
      await page.getByRole('combobox', { name: 'Placement' }).selectOption('blocked');
      await page.waitForURL('**/overview?outcome=blocked');
      await page.getByRole('checkbox', { name: 'Bills now' }).check();
      await page.waitForURL('**/overview?outcome=blocked&bills=true');
      await waitUntil('it is asked for', 10_000, () =>
        server.asked.includes('/api/audit/allocations?outcome=blocked&bills=true&limit=50'),
      );
      // Whoever goes through the filters by keyboard stays where they are.
      await page.locator('input[name=bills]:focus').waitFor();
      await page.reload();
      expect(await page.getByRole('combobox', { name: 'Placement' }).inputValue()).toBe('blocked');
    });

    test('an app that is behind is called so', async () => {
      const page = await open('/overview');
      const lags = page.getByRole('region', { name: 'How far each app is' });
      await lags.getByText('12 events behind, 9 s').waitFor();
      expect(await lags.getByText('up to date').count()).toBe(2);
    });

    test('an empty deployment has calm words for everything', async () => {
      server.overview = overview({
        head: { pos: 0, at: null },
        openQuestions: 0,
        allocations: { total: 0, byStatus: {}, byOutcome: {} },
        bills: [],
        alerts: [],
        consumers: [],
        parked: [],
        notices: null,
      });
      server.list = { rows: [], next: null };
      const page = await open('/overview');
      for (const words of [
        'The log is empty.',
        'Nothing of ours bills.',
        'No allocation yet',
        'None open.',
      ]) {
        await page.getByText(words).waitFor();
      }
    });
  });

  test('nothing is asked of another host, and nothing inline runs', async () => {
    server.set(poolQuestion());
    const asked = new Set<string>();
    const page = await windows.open('about:blank');
    page.on('request', (request) => asked.add(new URL(request.url()).origin));
    for (const path of ['/', '/overview', `/allocations/${OTHER_REF}`]) {
      await page.goto(`${server.url}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
    }
    expect([...asked]).toEqual([server.url]);
    const html = await (await fetch(server.url)).text();
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  });
});
