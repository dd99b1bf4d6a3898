import { ParkedBody, type ParkedReleased } from '#domain/consent/page-bodies';
import { type Release, type ReleaseLog, releaseParked } from '#event-log/release-parked';
import { allocationStream } from '#events/streams';
import { type Caller, mayDo } from '#platform/auth';
import type { Clock } from '#platform/clock';
import { parseBody, problem } from '#platform/problem';
import type { PageResult } from './prompt-calls.ts';

/** Lets a parked allocation go on, by the page as by the command line (design 6). */
export class ParkedCalls {
  constructor(
    private readonly log: ReleaseLog,
    private readonly clock: Clock,
  ) {}

  async release(as: Release, body: unknown, caller: Caller): Promise<PageResult<ParkedReleased>> {
    const parsed = parseBody(ParkedBody, body);
    if (!parsed.ok) return { kind: 'refused', problem: parsed.problem };
    if (!mayDo(caller, 'operate')) return { kind: 'refused', problem: problem('not_permitted') };
    const { consumer, ref, first_pos } = parsed.value;
    const released = await releaseParked(this.log, {
      consumer,
      stream: allocationStream(ref),
      firstPos: first_pos,
      as,
      at: this.clock.now(),
    });
    switch (released.outcome) {
      case 'released':
      case 'released_already':
        return { kind: 'answered', body: { ok: true, outcome: released.outcome } };
      case 'nothing_parked':
        return { kind: 'refused', problem: problem('nothing_parked') };
      case 'moved_on':
        return { kind: 'refused', problem: problem('parked_elsewhere') };
    }
  }
}
