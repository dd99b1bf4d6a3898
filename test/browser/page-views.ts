import type {
  AllocationLine,
  AllocationList,
  AllocationView,
  OverviewView,
  StateView,
} from '#domain/audit/views';
import { inS, OTHER_REF, REF } from './page-questions.ts';

/** Anything of a view that a test says itself. */
type Some<View> = Partial<View>;

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const STORY_START_S = -5_400;
const INSTANCE = 'projects/p/zones/us-central1-a/instances/sw-prod-19b7d3f2';
const POD = 'runpod/pod-k3v9x1';

function stateAt(pos: number, at: string, some: Some<StateView>): StateView {
  return { pos, at, unreadable: null, record: null, placement: null, ...some };
}

const RECORD = {
  count: 0,
  status: 'tracking',
  consent: 'not-requested',
  pool: 'on-demand',
  openQuestion: null,
};
type Placed = NonNullable<StateView['placement']>;
const PLACED: Placed = {
  outcome: 'placed_primary',
  reason: null,
  rule: null,
  instance: { id: INSTANCE, lane: 'gcp', pool: 'flex-start', rung: 'flex_a' },
  provider: { status: 'queued', observedAt: inS(STORY_START_S + 30) },
  openIntent: null,
  bills: [],
};

interface Told {
  readonly s: number;
  readonly type: string;
  readonly stage: AllocationLine['stage'];
  readonly who: string;
  readonly what: string;
  readonly placement: Placed | null;
  readonly because?: AllocationLine['because'];
  readonly texts?: AllocationLine['texts'];
}

function storyOf(): readonly Told[] {
  const launched: Placed = { ...PLACED, outcome: null, instance: null, provider: null };
  const intent: Placed = { ...launched, openIntent: 'kq7w2m5xplz3' };
  const asked: Placed = {
    ...PLACED,
    outcome: 'awaiting_consent',
    reason: 'gcp_queue_vanish_failover_runpod',
    rule: '4.3 queue_vanish seen',
    provider: { status: 'not_found', observedAt: inS(STORY_START_S + 1_300) },
  };
  const moving: Placed = { ...asked, outcome: 'waiting', openIntent: 'p4r8s6tuvy2a' };
  const bill = {
    instance: POD,
    lane: 'runpod',
    sinceAt: inS(STORY_START_S + 1_502),
    costPerHourUsd: 2.49,
    costSoFarUsd: 2.6,
  };
  const moved: Placed = {
    ...asked,
    outcome: 'running_on_terminal',
    instance: { id: POD, lane: 'runpod', pool: null, rung: null },
    provider: { status: 'running', observedAt: inS(-40) },
    bills: [bill],
  };
  const quiet = (s: number): readonly Told[] => [
    {
      s,
      type: 'ObservationReported',
      stage: 'watch',
      who: 'local',
      what: `saw instance ${INSTANCE}: queued`,
      placement: PLACED,
    },
    {
      s: s + 0.1,
      type: 'ObservationJudged',
      stage: 'watch',
      who: 'classifier',
      what: `judged what was seen of ${INSTANCE}: unchanged`,
      placement: PLACED,
      because: [{ code: 'queue_timeout:not_long_enough', text: 'It has not waited for longer than 600 s.' }],
    },
  ];
  return [
    {
      s: 0,
      type: 'LaunchRequested',
      stage: 'attempt',
      who: 'local',
      what: 'asked for a launch: 1 rung, then runpod; consent ask',
      placement: launched,
      texts: [{ kind: 'launch', text: '{"command":"python train.py"}' }],
    },
    {
      s: 0.2,
      type: 'LaunchAccepted',
      stage: 'intent',
      who: 'classifier',
      what: 'accepted the launch and began to walk the ladder',
      placement: launched,
    },
    {
      s: 1,
      type: 'IntentRecorded',
      stage: 'intent',
      who: 'provisioner',
      what: 'recorded intent kq7w2m5x… on rung flex_a, lane gcp',
      placement: intent,
    },
    {
      s: 2,
      type: 'CreateSending',
      stage: 'provision',
      who: 'provisioner',
      what: 'announced create 1 of intent kq7w2m5x…',
      placement: intent,
    },
    {
      s: 4,
      type: 'InstancePlaced',
      stage: 'provision',
      who: 'provisioner',
      what: `placed ${INSTANCE} on rung flex_a`,
      placement: PLACED,
    },
    ...quiet(60),
    ...quiet(360),
    ...quiet(660),
    ...quiet(960),
    {
      s: 1_300,
      type: 'ObservationReported',
      stage: 'watch',
      who: 'local',
      what: `saw instance ${INSTANCE}: not_found`,
      placement: asked,
      texts: [{ kind: 'failure', text: 'The resource was not found.\n<b>code 404</b>' }],
    },
    {
      s: 1_300.2,
      type: 'FailoverPrompted',
      stage: 'prompt',
      who: 'classifier',
      what: 'asked whether the run may move to lane runpod',
      placement: asked,
      because: [{ code: 'queue_vanish', text: 'Confirmed absent, and it was seen queued before.' }],
    },
    {
      s: 1_500,
      type: 'ConsentAnswered',
      stage: 'consent',
      who: 'local',
      what: 'answered yes to question b81d04c6…',
      placement: moving,
    },
    {
      s: 1_502,
      type: 'InstanceCreated',
      stage: 'provision',
      who: 'provisioner',
      what: `created ${POD} for intent p4r8s6tu…`,
      placement: { ...moving, bills: [bill] },
    },
    {
      s: 1_530,
      type: 'FailoverCompleted',
      stage: 'dispatch',
      who: 'provisioner',
      what: `completed the move: ${POD} on lane runpod does the work now`,
      placement: moved,
    },
  ];
}

/** A run that vanished from its queue and was moved, an hour and a half ago. */
export function movedAllocation(some: Some<AllocationView> = {}): AllocationView {
  const lines = storyOf().map((told, index): AllocationLine => {
    const pos = 80 + index;
    const at = inS(STORY_START_S + told.s);
    const { s: _, placement, because = [], texts = [], ...rest } = told;
    return {
      pos,
      at,
      because,
      texts,
      machines: [],
      after: null,
      ...rest,
      state: stateAt(pos, at, { placement, record: RECORD }),
    };
  });
  const at = inS(0);
  const last = lines.at(-1);
  const bar = (
    track: string,
    label: string,
    tone: AllocationView['bars'][number]['tone'],
    from: number,
    to: number | null,
  ) => ({
    track,
    label,
    tone,
    from: inS(STORY_START_S + from),
    to: to === null ? null : inS(STORY_START_S + to),
  });
  return {
    ref: OTHER_REF,
    name: 'team-b/pretrain-eu-west-large-context-2',
    erased: false,
    upTo: last?.pos ?? 0,
    at,
    now: last?.state ?? stateAt(0, at, {}),
    lines,
    bars: [
      bar('questions', 'asked about the move', 'asked', 1_300.2, 1_500),
      bar('record', 'tracking, on-demand', 'calm', 0, null),
      bar('placement', 'placed_primary', 'good', 4, 1_300),
      bar('placement', 'awaiting_consent: gcp_queue_vanish_failover_runpod', 'asked', 1_300, 1_500),
      bar('placement', 'running_on_terminal', 'good', 1_530, null),
      bar('lane gcp', `${INSTANCE}: queued`, 'moving', 4, 1_300),
      bar('lane gcp', `${INSTANCE}: not_found`, 'bad', 1_300, 1_530),
      bar('lane runpod', `${POD}: placed`, 'moving', 1_502, 1_530),
      bar('lane runpod', `${POD}: running`, 'good', 1_530, null),
      bar('intents', 'intent on gcp', 'moving', 1, 4),
      bar('intents', 'intent on runpod', 'moving', 1_500, 1_530),
    ],
    earlier: null,
    ...some,
  };
}

export function overview(some: Some<OverviewView> = {}): OverviewView {
  return {
    at: inS(0),
    head: { pos: 48_211, at: inS(-3) },
    openQuestions: 2,
    allocations: {
      total: 1_284,
      byStatus: { tracking: 902, 'awaiting-consent': 2, consented: 131, declined: 44, succeeded: 205 },
      byOutcome: { placed_primary: 388, running_on_terminal: 27, awaiting_consent: 1, blocked: 6, done: 611 },
    },
    bills: [
      {
        instance: POD,
        lane: 'runpod',
        sinceAt: inS(-3_898),
        costPerHourUsd: 2.49,
        costSoFarUsd: 2.69,
        ref: OTHER_REF,
        name: 'team-b/pretrain-eu-west-large-context-2',
      },
      {
        instance: 'projects/p/zones/us-central1-a/instances/sw-prod-7c1f0e6b',
        lane: 'gcp',
        sinceAt: inS((-52 * HOUR_MS) / SECOND_MS),
        costPerHourUsd: null,
        costSoFarUsd: null,
        ref: REF,
        name: 'team-a/finetune-7',
      },
    ],
    billsMore: false,
    alerts: [
      {
        ref: REF,
        name: 'team-a/finetune-7',
        alert: 'terminal_pod_unreachable',
        subject: POD,
        at: inS(-900),
        pos: 47_900,
      },
    ],
    alertsMore: false,
    consumers: [
      { consumer: 'classifier', lagEvents: 0, lagS: 0, updatedAt: inS(-2) },
      { consumer: 'consent', lagEvents: 0, lagS: 0, updatedAt: inS(-3) },
      { consumer: 'provisioner', lagEvents: 12, lagS: 9, updatedAt: inS(-9) },
    ],
    parked: [
      {
        consumer: 'classifier',
        ref: OTHER_REF,
        name: 'team-b/pretrain-eu-west-large-context-2',
        firstPos: 47_312,
        reason: 'handler_failed',
        tries: 5,
        parkedAt: inS(-5_000),
        state: 'parked',
      },
    ],
    deadLetters: 0,
    notices: { waiting: 0, failing: 0 },
    ...some,
  };
}

export function allocationList(): AllocationList {
  return {
    rows: [
      {
        ref: OTHER_REF,
        name: 'team-b/pretrain-eu-west-large-context-2',
        status: 'tracking',
        outcome: 'running_on_terminal',
        reason: 'gcp_queue_vanish_failover_runpod',
        lane: 'runpod',
        instance: POD,
        openQuestion: null,
        bills: true,
        pos: 48_200,
        at: inS(-40),
      },
      {
        ref: REF,
        name: 'team-a/finetune-7',
        status: 'awaiting-consent',
        outcome: null,
        reason: null,
        lane: null,
        instance: null,
        openQuestion: 'evt-pool-3f9c2a71d8',
        bills: false,
        pos: 48_150,
        at: inS(-134),
      },
      {
        ref: 'e02b9a7745cd11ee8c990242ac120002e02b9a7745cd11ee8c990242ac120002',
        name: null,
        status: 'succeeded',
        outcome: 'done',
        reason: null,
        lane: 'gcp',
        instance: null,
        openQuestion: null,
        bills: false,
        pos: 31_004,
        at: inS(-400_000),
      },
    ],
    next: null,
  };
}
