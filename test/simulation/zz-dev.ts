import { runSeed } from './random-schedule.ts';

const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 50),
  show = process.argv[4] === 'show';
const kinds = new Map<string, number[]>();
const outs = new Map<string, number>();
const t = performance.now();
for (let s = from; s < from + n; s++) {
  const r = await runSeed(s);
  outs.set(String(r.outcome), (outs.get(String(r.outcome)) ?? 0) + 1);
  if (r.faults.length) {
    const k = r.faults[0]!.split('\n')[0]!
      .replace(/[a-z2-7]{26}/g, 'ID')
      .replace(/\b[PXJF]\d+\b/g, '#')
      .replace(/\d+/g, 'N');
    kinds.set(k, [...(kinds.get(k) ?? []), s]);
    if (show) {
      console.log(r.trace.join('\n'));
      console.log(r.faults.join('\n'));
    }
  }
}
for (const [k, v] of [...kinds].sort((a, b) => b[1].length - a[1].length))
  console.log(v.length, k, v.slice(0, 6).join(' '));
console.log('ms/seed', ((performance.now() - t) / n).toFixed(1), Object.fromEntries(outs));
