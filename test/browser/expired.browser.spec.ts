import { expect, test } from 'vitest';
import { capacityFailure, preflightProof } from '#support/failing-attempts';
import { withApps } from '#support/running-apps';
import { at } from '../conformance/fallback-expect.ts';
import { describeInBrowser, withBrowser } from './browser.ts';

/** Long enough to be seen open on a busy machine, short enough to be waited for. */
const TOKEN_LIFE_S = 6;

describeInBrowser('a question whose life time is over', () => {
  const system = withApps({ env: { SPILLWAY_TOKEN_LIFE_S: String(TOKEN_LIFE_S) } });
  const windows = withBrowser();

  test('leaves the open ones by itself, is asked again when it is read, and can be declined at any time', async () => {
    const name = 'team/expires';
    const page = await windows.open(system.apps.url);
    await page.getByText('Nothing waits for an answer').waitFor();
    await system.calls.attempt(preflightProof(name));
    const card = page.getByRole('article').filter({ hasText: name });
    await card.waitFor();
    await card.waitFor({ state: 'detached' });

    await page.getByRole('link', { name: 'History' }).click();
    const expired = page.getByRole('listitem').filter({ hasText: name }).filter({ hasText: 'Expired' });
    await expired.getByRole('link').click();
    await card.getByText('left').waitFor();
    await card.getByRole('button', { name: 'Accept…' }).waitFor({ state: 'detached' });

    await card.getByRole('button', { name: 'Decline' }).click();
    await page.getByText('You declined').waitFor();
    const next = await system.calls.attempt(capacityFailure(name));
    expect(at(next.json, 'allocation')).toMatchObject({ status: 'declined', consent: 'declined' });
  });
});
