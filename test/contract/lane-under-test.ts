import type { CreateRequest, IntentMark, Lane, LaneInstance, Workload } from '#domain/provision/lane';
import { randomId } from '#platform/ids';

/** What can go wrong with a call, in words that every provider knows. */
export type Trouble =
  | 'capacity'
  | 'quota'
  | 'rejected'
  | 'auth'
  | 'rate_limited'
  | 'error'
  | 'error_but_done'
  | 'unavailable'
  | 'hang'
  | 'hang_but_done'
  | 'reset'
  | 'reset_but_done'
  | 'html'
  | 'garbage'
  | 'wrong_shape'
  | 'partial'
  | 'said_done_but_not'
  | 'not_found';

export type TroubledCall = 'create' | 'list' | 'get' | 'terminate' | 'probe_lane';

/** What somebody else puts into the lane. */
export interface Stranger {
  readonly name: string;
  readonly mark?: { readonly deployment: string; readonly allocation: string; readonly intent: string };
  readonly keep?: boolean;
}

/** A lane and its world, which can be told to misbehave. */
export interface LaneUnderTest {
  readonly lane: Lane;
  /** The same lane with short deadlines, for calls that are never answered. */
  readonly hasty: Lane;
  /** An ordinary request that the lane can serve. */
  readonly request: CreateRequest;
  /** The next call of this kind, and all after it, meet this trouble; null = the call works again. */
  trouble(call: TroubledCall, trouble: Trouble | null, retryAfterS?: number): Promise<void>;
  /** How many machines the world holds that carry this intent, by the books and not by the lane. */
  madeOf(intent: string): Promise<number>;
  /** How many of them have not ended. */
  liveOf(intent: string): Promise<number>;
  /** How many creates have reached the provider in all. */
  creates(): Promise<number>;
  /** Puts in somebody else's machine; gives its id. */
  addStranger(stranger: Stranger): Promise<string>;
  /** The machine ends by itself, and stays listed as ended. */
  stop(id: string): Promise<void>;
  /** Nothing answers where the provider should be. */
  unreachable(): Lane;
  /** Listings lag behind creates so long; reads too. */
  lag(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/** A fresh mark of a fresh intent. */
export function freshMark(intent: string = randomId()): IntentMark {
  const deployment = 'test';
  const allocation = '0123456789abcdef';
  return { name: `sw-${deployment}-${allocation}-${intent}`, deployment, allocation, intent };
}

export const WORKLOAD: Workload = {
  command: 'train --epochs 3',
  arguments: null,
  image: null,
  branch: null,
  env: { WANDB_API_KEY: 'hush-hush-123' },
  outputs: [],
  diskBytes: 20_000_000_000,
  memoryBytes: null,
};

/** Creates and gives the instance; a failure is the test's. */
export async function createOn(
  { lane, request }: Pick<LaneUnderTest, 'lane' | 'request'>,
  mark: IntentMark,
): Promise<LaneInstance> {
  const answer = await lane.create(mark, request);
  if (answer.kind !== 'created') throw new Error(`not created: ${JSON.stringify(answer)}`);
  return answer.instance;
}
