#!/usr/bin/env node
import { existsSync } from 'node:fs';

// Plain JavaScript, so that it can say what is missing before anything is built.
const built = new URL('../dist/tools/spillway/main.js', import.meta.url);

if (existsSync(built)) {
  await import(built.href);
} else {
  process.stderr.write('spillway is not built yet. Run: npm start (or npm run build)\n');
  process.exitCode = 2;
}
