import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, inject } from 'vitest';

const found = inject('chromium');
const LAUNCH_BOUND_MS = 60_000;
/** Longer than anything on a page takes on a busy machine; a test that waits in vain fails with its reason. */
const STEP_BOUND_MS = 20_000;

/** A `describe` for a real browser; where none can be had it is reported as skipped, with the reason in its name. */
export function describeInBrowser(name: string, tests: () => void): void {
  const isMissing = 'missing' in found;
  describe.skipIf(isMissing)(isMissing ? `${name} (skipped: ${found.missing})` : name, tests);
}

export interface Look {
  readonly width: number;
  readonly height: number;
  readonly dark?: boolean;
  /** Without the page's policy, to inject a checker. */
  readonly bypassPolicy?: boolean;
  readonly phone?: boolean;
  /** A page that is not ours. */
  readonly mayComplain?: boolean;
  /** What is to be set up before the page is asked for. */
  readonly before?: (page: Page) => Promise<void>;
}

export const DESKTOP: Look = { width: 1280, height: 800 };
export const PHONE: Look = { width: 360, height: 740, phone: true };

export interface Windows {
  /** A new window with storage of its own; closed after the test. Faults of its scripts fail the test. */
  open(url: string, look?: Look): Promise<Page>;
}

/** One browser for the calling file or `describe`. */
export function withBrowser(): Windows {
  let browser: Browser | undefined;
  const contexts: BrowserContext[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    if ('missing' in found) return;
    browser = await chromium.launch({
      executablePath: found.path,
      timeout: LAUNCH_BOUND_MS,
      // Root may not use the sandbox; containers share little memory at /dev/shm.
      args: [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'],
    });
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    const seen = faults.splice(0);
    if (seen.length > 0) throw new Error(`The page complained:\n${seen.join('\n')}`);
  });
  afterAll(async () => browser?.close());

  return {
    open: async (url, look = DESKTOP) => {
      if (browser === undefined) throw new Error('Windows are opened in tests.');
      const context = await browser.newContext({
        viewport: { width: look.width, height: look.height },
        colorScheme: look.dark === true ? 'dark' : 'light',
        reducedMotion: 'reduce',
        bypassCSP: look.bypassPolicy === true,
        isMobile: look.phone === true,
        hasTouch: look.phone === true,
        deviceScaleFactor: look.phone === true ? 2 : 1,
      });
      contexts.push(context);
      context.setDefaultTimeout(STEP_BOUND_MS);
      const page = await context.newPage();
      const fault = (text: string) => {
        if (look.mayComplain !== true) faults.push(text);
      };
      page.on('pageerror', (error) => fault(String(error)));
      // A refused policy is an error on the console, and so is a script of ours that complains.
      page.on('console', (message) => {
        const text = message.text();
        if (message.type() === 'error' && !/Failed to load resource|net::ERR/.test(text)) fault(text);
      });
      await look.before?.(page);
      await page.goto(url);
      return page;
    },
  };
}
