import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { ALLOCATION } from '#support/attempt-bodies';
import { askedByFailures, capacityFailure, preflightProof } from '#support/failing-attempts';
import { observe, outcomeIs, resultWhere } from '#support/failover-calls';
import { happens, placed } from '#support/failover-story';
import { streamOfName } from '#support/provisioner-facts';
import { withApps } from '#support/running-apps';
import { PROJECT } from '../architecture/planted-tree.ts';
import { at } from '../conformance/fallback-expect.ts';
import { DESKTOP, describeInBrowser, withBrowser } from './browser.ts';
import { startOtherSite } from './other-site.ts';

const FOLDER = join(PROJECT, 'test-results/screenshots');
const MOVE_BOUND_MS = 60_000;

describeInBrowser('the page over the running apps', () => {
  const system = withApps({ provisioners: 1, audit: true });
  const windows = withBrowser();
  const open = (path = '/') => windows.open(`${system.apps.url}${path}`);
  const ready = async (path = '/') => {
    const page = await open(path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    return page;
  };
  const card = (page: Page, name: string) => page.getByRole('article').filter({ hasText: name });
  const refOf = (name: string) => streamOfName(system.ring, name).replace('allocation-', '');
  const recordOf = async (name: string) => {
    const next = await system.calls.attempt(capacityFailure(name));
    return at(next.json, 'allocation');
  };
  const accept = async (page: Page, name: string) => {
    await card(page, name).getByRole('button', { name: 'Accept…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Yes, accept' }).click();
  };

  beforeAll(async () => {
    // Whatever is queued in the stand-in stays queued until a test says otherwise.
    await system.cloud.client.behave({ lane: 'gcp', queueS: null });
  });

  test('a question opened over HTTP is on the page within a second', async () => {
    const page = await ready();
    await page.getByText('Nothing waits for an answer').waitFor();
    const times: number[] = [];
    // The best of three: the promise is the product's, the pauses are the machine's.
    for (const name of ['team/seen-1', 'team/seen-2', 'team/seen-3']) {
      const sentMs = performance.now();
      await system.calls.attempt(preflightProof(name));
      await card(page, name).waitFor();
      times.push(performance.now() - sentMs);
    }
    expect(Math.min(...times)).toBeLessThan(1_000);
    expect(await page.title()).toMatch(/^\(3\) /);
    const names = await page.getByRole('article').locator('.name').allTextContents();
    expect(names).toEqual(['team/seen-3', 'team/seen-2', 'team/seen-1']);
  });

  test('accepting asks once more, names what is bought, and is recorded', async () => {
    const name = 'team/accepted-here';
    await askedByFailures(system.calls, name);
    const page = await ready();
    await card(page, name).getByRole('button', { name: 'Accept…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain('Preemptible capacity for the identical allocation');
    await dialog.getByRole('button', { name: 'Back' }).click();
    await dialog.waitFor({ state: 'detached' });
    await accept(page, name);

    await page.getByText('You accepted').waitFor();
    await card(page, name).waitFor({ state: 'detached' });
    expect(await recordOf(name)).toMatchObject({ selected_pool: 'preemptible', consent: 'accepted' });
    await page.getByRole('link', { name: 'History' }).click();
    const row = page.getByRole('listitem').filter({ hasText: name });
    expect(await row.textContent()).toMatch(/accepted.*by local/);
  });

  test('declining takes one step, by keyboard alone', async () => {
    const name = 'team/declined-here';
    await askedByFailures(system.calls, name);
    const page = await ready();
    await card(page, name).waitFor();
    await tabTo(page, card(page, name).getByRole('button', { name: 'Decline' }));
    await page.keyboard.press('Enter');
    await page.getByText('You declined').waitFor();
    expect(await recordOf(name)).toMatchObject({ selected_pool: 'on-demand', consent: 'declined' });
  });

  test('of two windows one answers; the other sees it at once, and a late click is told who and when', async () => {
    const name = 'team/two-windows';
    await askedByFailures(system.calls, name);
    const [first, second] = [await ready(), await ready()];
    // This one hears nothing: what it shows gets old.
    const late = await windows.open(system.apps.url, {
      ...DESKTOP,
      before: async (page) => {
        await page.route('**/api/prompts/stream', (route) => route.abort());
      },
    });
    await card(late, name).getByRole('button', { name: 'Accept…' }).click();
    await card(second, name).getByRole('button', { name: 'Accept…' }).click();
    await accept(first, name);

    await card(second, name).waitFor({ state: 'detached' });
    expect(await second.getByRole('dialog').count()).toBe(0);
    const told = second.getByRole('status').filter({ hasText: name });
    expect(await told.textContent()).toMatch(/was accepted by local/);
    await late.getByRole('dialog').getByRole('button', { name: 'Yes, accept' }).click();
    const tooLate = late.getByRole('status').filter({ hasText: 'Too late' });
    expect(await tooLate.textContent()).toMatch(
      /team\/two-windows was accepted by local.* \(\d+ \w+ \d{4}, [\d:]+ UTC\)\. Your answer changed nothing/,
    );
    await card(late, name).waitFor({ state: 'detached' });
  });

  test('a superseded question gives way to the newer one', async () => {
    const name = 'team/superseded-here';
    await askedByFailures(system.calls, name);
    const page = await ready();
    await card(page, name).waitFor();
    await system.calls.attempt(capacityFailure(name, { fingerprint: 'f2' }));
    await page.getByText('was superseded').waitFor();
    expect(await card(page, name).count()).toBe(1);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('listitem').filter({ hasText: name }).getByText('superseded').first().waitFor();
  });

  test('a lost connection is shown and comes back by itself after a restart, with what was missed', async () => {
    const page = await ready();
    const { consent } = system.apps.processes;
    try {
      expect(await consent.stop()).toBe('code 0');
      await page.getByText('Connection lost.').waitFor();
      await askedByFailures(system.calls, 'team/while-away');
    } finally {
      await consent.start();
    }
    await card(page, 'team/while-away').waitFor({ timeout: 20_000 });
    await page.getByText('Connection lost.').waitFor({ state: 'detached' });
    await askedByFailures(system.calls, 'team/after-restart');
    await card(page, 'team/after-restart').waitFor();
  });

  test('markup in every field stays text, in every view', async () => {
    const markup = (field: string) =>
      `<img src=x onerror="document.title='owned'">${field}<script>document.title='owned'</script>`;
    const texts = Object.fromEntries(
      Object.entries(ALLOCATION).map(([member, value]) => [
        member,
        typeof value === 'string' ? markup(member) : value,
      ]),
    );
    const name = markup('name');
    const body = {
      ...preflightProof(name),
      request: { ...texts, pool: 'on-demand' },
      preemptible_candidate: { ...texts, pool: 'preemptible' },
      failure: { code: markup('code'), message: markup('message') },
    };
    const asked = await system.calls.attempt(body);
    expect(at(asked.json, 'decision.prompt'), asked.text).toBe(true);

    const page = await ready();
    await card(page, 'onerror').getByText(markup('image'), { exact: true }).waitFor();
    await card(page, 'onerror').getByRole('button', { name: 'Accept…' }).click();
    await page.getByRole('dialog').getByText(name).waitFor();
    await page.keyboard.press('Escape');
    for (const path of [`/allocations/${refOf(name)}`, '/overview', '/history', '/']) {
      await page.goto(`${system.apps.url}${path}`);
      if (path !== '/history') await page.getByText(name).first().waitFor();
      await page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })");
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(await page.title()).not.toContain('owned');
    }
  });

  test('a page of another site decides nothing', async () => {
    const name = 'team/other-site';
    await askedByFailures(system.calls, name);
    const { json } = await system.calls.get('/api/prompts?state=open&limit=100');
    const prompts = at(json, 'prompts');
    const id = Array.isArray(prompts)
      ? textOf(
          prompts.find((one) => at(one, 'name') === name),
          'id',
        )
      : '';
    const other = await startOtherSite(`${system.apps.url}/api/prompts/${id}/answer`, { accept: true });
    try {
      const page = await windows.open(other.url, { ...DESKTOP, mayComplain: true });
      await page.getByText('all tried').waitFor();
      expect(await page.locator('li').allTextContents()).toEqual(other.triedInVain);
    } finally {
      await other.stop();
    }
    const { json: after } = await system.calls.get(`/api/prompts/${id}`);
    expect(after).toMatchObject({ state: 'open', closed: null });
  });

  test('a run that vanished is asked about, moved by the answer, and told as a story', async () => {
    const name = 'team/vanished-here';
    const { location, instance } = await placed(system, name, { failover: 'ask' });
    await happens(system, instance, { remove: 'provider' });
    await observe(system, name, instance, {
      provider: 'not_found',
      create_operation: 'done',
      delete_operation: 'none',
    });
    await resultWhere(system, location, 'it is asked', outcomeIs('awaiting_consent'));
    const page = await ready();
    await card(page, name).getByText('runpod', { exact: true }).first().waitFor();
    await page.screenshot({ path: join(FOLDER, 'real-failover-question.png'), fullPage: true });
    await accept(page, name);
    await resultWhere(system, location, 'it is moved', outcomeIs('running_on_terminal'), MOVE_BOUND_MS);

    await page.goto(`${system.apps.url}/allocations/${refOf(name)}`);
    await page.getByText('Bills now: 1 machine').waitFor();
    await page.getByText('running on terminal', { exact: true }).waitFor();
    await page.screenshot({ path: join(FOLDER, 'real-allocation.png'), fullPage: true });

    const question = page.getByRole('listitem').filter({ hasText: 'asked whether' }).first();
    await question.getByRole('button').click();
    await page.getByText('awaiting consent', { exact: true }).waitFor();
    await page.getByText('Billed then').waitFor();
    // What is in the address is all that a shared link needs.
    const shared = await windows.open(page.url());
    await shared.getByText('awaiting consent', { exact: true }).waitFor();

    await page.goto(`${system.apps.url}/overview`);
    const bills = page.getByRole('region', { name: 'What bills now' });
    await bills.getByText(name).waitFor();
    await page.screenshot({ path: join(FOLDER, 'real-overview.png'), fullPage: true });
  });
});

const MOST_STOPS = 80;

/** Goes on by Tab until something has the focus, as somebody without a mouse does. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  for (let stops = 0; stops < MOST_STOPS; stops += 1) {
    await page.keyboard.press('Tab');
    if (await target.and(page.locator(':focus')).count()) return;
  }
  throw new Error(`not reached within ${MOST_STOPS} stops: ${target}`);
}

function textOf(value: unknown, member: string): string {
  const found = at(value, member);
  if (typeof found !== 'string') throw new Error(`no ${member}`);
  return found;
}
