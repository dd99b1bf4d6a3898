import type { SeededNumbers } from './ids.ts';
import type { ScenarioPlan } from './scenario.ts';

type Rung = NonNullable<ScenarioPlan['rungs']>[number];

const RUNGS: readonly Omit<Rung, 'id'>[] = [
  { lane: 'gcp', pool: 'flex-start' },
  { lane: 'gcp', pool: 'on-demand' },
  { lane: 'gcp', pool: 'on-demand' },
  { lane: 'gcp', pool: 'preemptible' },
  { lane: 'slurm', pool: 'batch' },
];

/** A plan that an owner could have sent. */
export function randomPlan(numbers: SeededNumbers): ScenarioPlan {
  const count = numbers.between(1, 4);
  return {
    rungs: Array.from({ length: count }, (_, index) => ({ id: `rung_${index + 1}`, ...numbers.pick(RUNGS) })),
    terminal: numbers.oneIn(20) ? null : { lane: 'runpod' },
    workload: numbers.oneIn(20) ? null : { command: 'run' },
    budget_s: numbers.oneIn(3) ? numbers.between(600, 20_000) : null,
    failover: numbers.weighted([
      [8, 'standing'],
      [3, 'ask'],
      [1, 'never'],
    ]),
    limits: {
      ...(numbers.oneIn(3) ? { creates_per_day: numbers.between(1, 6) } : {}),
      ...(numbers.oneIn(3) ? { max_reaps: numbers.between(1, 3) } : {}),
      ...(numbers.oneIn(3) ? { boot_deaths: numbers.between(1, 3) } : {}),
      ...(numbers.oneIn(2) ? { worker_lease_s: numbers.pick([5, 10, 30, 60, 120]) } : {}),
      ...(numbers.oneIn(3) ? { no_port_s: numbers.between(10, 300) } : {}),
      ...(numbers.oneIn(2) ? { queue_wait_s: numbers.between(10, 300) } : {}),
      ...(numbers.oneIn(2) ? { capacity_retry_backoff_s: numbers.between(60, 1_800) } : {}),
      ...(numbers.oneIn(2)
        ? { wedge_stale_s: numbers.between(10, 300), wedge_span_s: numbers.between(1, 60) }
        : {}),
    },
  };
}
