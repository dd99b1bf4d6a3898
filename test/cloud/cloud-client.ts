import { z } from 'zod';
import type { BehaviourOrder, ForeignOrder, InstanceOrder } from './admin-api.ts';
import { LedgerReport } from './ledger-report.ts';
import type { CloudCall, CloudLane, StepInput } from './scripts.ts';

/** Moves the world of a stand-in, in this process or another. Rejects when the stand-in refuses. */
export class CloudClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  /** How the next calls are answered, in order; the last step repeats. */
  async script(lane: CloudLane, call: CloudCall, ...steps: readonly StepInput[]): Promise<void> {
    await this.#post('/_cloud/script', { lane, call, steps });
  }

  /** As `script`, and after the last step the call works again. */
  async scriptOnce(lane: CloudLane, call: CloudCall, ...steps: readonly StepInput[]): Promise<void> {
    await this.#post('/_cloud/script', { lane, call, steps, once: true });
  }

  async behave(order: z.input<typeof BehaviourOrder>): Promise<void> {
    await this.#post('/_cloud/behaviour', order);
  }

  /** Makes an instance that is none of ours. Gives its id. */
  async addForeign(order: z.input<typeof ForeignOrder>): Promise<string> {
    const response = await this.#post('/_cloud/instances', order);
    return z.object({ id: z.string() }).parse(await response.json()).id;
  }

  async change(id: string, order: z.input<typeof InstanceOrder>): Promise<void> {
    await this.#post(`/_cloud/instances/${encodeURIComponent(id)}`, order);
  }

  async ledger(): Promise<LedgerReport> {
    const response = await fetch(`${this.#url}/_cloud/ledger`);
    return LedgerReport.parse(await response.json());
  }

  async #post(path: string, body: unknown): Promise<Response> {
    const response = await fetch(`${this.#url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the stand-in refused ${path}: ${await response.text()}`);
    return response;
  }
}
