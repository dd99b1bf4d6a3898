import { type LedgerReport, liveOwn, workloadStarts } from '../cloud/ledger-report.ts';

/** What must be true of the cloud at rest: the only judge of "bought twice" (failover 8, 10). */
export function ledgerFaults(report: LedgerReport, deployment = 'test'): readonly string[] {
  const faults: string[] = [];
  const perAllocation = new Map<string, string[]>();
  for (const { mark, id, lane } of liveOwn(report, deployment)) {
    const owner = `${lane} ${mark.allocation ?? ''}`;
    perAllocation.set(owner, [...(perAllocation.get(owner) ?? []), id]);
  }
  for (const [owner, ids] of perAllocation) {
    if (ids.length > 1) faults.push(`${owner} has ${ids.length} machines that bill: ${ids.join(', ')}`);
  }
  for (const [intent, starts] of workloadStarts(report)) {
    if (starts > 1) faults.push(`the workload of intent ${intent} began ${starts} times`);
  }
  return faults;
}
