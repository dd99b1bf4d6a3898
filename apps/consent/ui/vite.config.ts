import { resolve } from 'node:path';
import { defineConfig } from 'vite';

/** The page of app `consent`: a few files that it serves beside its calls. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: resolve(import.meta.dirname, '../../../dist/apps/consent/ui'),
    emptyOutDir: true,
    target: 'es2023',
    // The policy of the page allows no `data:` but pictures, and nothing inline.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: true,
  },
});
