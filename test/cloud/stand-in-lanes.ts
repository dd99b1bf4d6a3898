/** Opens nothing anywhere: the stand-in takes any token. */
const STAND_IN_KEY = 'stand-in';
const STAND_IN_AGENT_KEY = Buffer.from('the stand-in keeps no secret at all').toString('base64');

export interface StandInTiming {
  /** The stand-in lists at once unless it is told otherwise, so it needs no long grace. */
  readonly listingGraceMs?: number;
  readonly createDeadlineMs?: number;
  readonly readDeadlineMs?: number;
}

/** What `SPILLWAY_LANES` holds when all lanes are played by the stand-in cloud at `url`. */
export function standInLanes(url: string, timing: StandInTiming = {}): string {
  return JSON.stringify([
    {
      lane: 'gcp',
      driver: 'gcp',
      project: 'stand-in',
      baseUrl: `${url}/gcp/compute/v1`,
      accessToken: STAND_IN_KEY,
      image: 'global/images/stand-in',
      zone: 'us-central1-a',
      ...timing,
    },
    {
      lane: 'runpod',
      driver: 'runpod',
      baseUrl: `${url}/runpod/v2`,
      apiKey: STAND_IN_KEY,
      agentKey: STAND_IN_AGENT_KEY,
      agentAddress: 'http://{ip}:{public}/agents/{pod}',
      image: 'spillway/agent:stand-in',
      ...timing,
    },
    {
      lane: 'kubernetes',
      driver: 'kubernetes',
      kind: 'batch',
      server: `${url}/kubernetes`,
      token: STAND_IN_KEY,
      image: 'spillway/workload:stand-in',
      pools: { batch: { 'spillway/pool': 'batch' } },
      ...timing,
    },
  ]);
}
