import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const conditions = ['source', 'module', 'node', 'development|production'];

const globalSetup = ['./test/support/global-setup.ts'];
/** Real servers and clocks on a shared machine: a second try, named at the end of the run. None by hand. */
const retry = process.env.CI === undefined ? 0 : 1;

/** A project a cost class: what a spec needs is told by its infix (CONTRIBUTING.md). */
const project = (name: string, include: readonly string[], more: object = {}) => ({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: { name, include: [...include], exclude: ['**/node_modules/**', 'dist/**'], ...more },
});

/** Short to read and long to run: by their size they would be begun last, each beside an idle core. */
const LONG = ['test/simulation/own-scenarios', 'test/simulation/mutations', 'test/flow/many-allocations'];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((name) => moduleId.includes(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      project('pure', ['{libs,apps,tools}/**/*.spec.ts', 'test/**/*.spec.ts'], {
        exclude: ['**/node_modules/**', 'dist/**', '**/*.{int,flow,crash,browser}.spec.ts'],
        retry,
        // Property tests on a machine that has other work: the bound is there for what never ends.
        testTimeout: 30_000,
      }),
      project('int', ['**/*.int.spec.ts'], { globalSetup, retry, testTimeout: 30_000, hookTimeout: 60_000 }),
      project('flow', ['**/*.flow.spec.ts'], {
        globalSetup,
        retry,
        testTimeout: 120_000,
        hookTimeout: 120_000,
      }),
      project('crash', ['**/*.crash.spec.ts'], {
        globalSetup,
        retry,
        testTimeout: 240_000,
        hookTimeout: 120_000,
        fileParallelism: false,
      }),
      project('browser', ['**/*.browser.spec.ts'], {
        globalSetup: [...globalSetup, './test/browser/chromium-setup.ts'],
        retry,
        testTimeout: 90_000,
        hookTimeout: 120_000,
        fileParallelism: false,
      }),
    ],
  },
});
