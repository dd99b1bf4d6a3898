import type { QueryResultRow } from 'pg';
import type {
  ListedNotice,
  NoticeState,
  NoticeTable,
  ReceiverStanding,
  ReceiverState,
  TryOutcome,
} from '#domain/prompt/notice-table';
import { safeInt } from './rows.ts';

type Rows = <Row extends QueryResultRow>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>;

interface StandingRow {
  readonly name: string;
  readonly state: ReceiverState;
  readonly pos: string;
  readonly since: string;
  readonly waiting: string;
  readonly failing: string;
  readonly oldest_ms: string;
}

interface NoticeRow {
  readonly receiver: string;
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly question: string | null;
  readonly state: NoticeState;
  readonly not_before: string;
  readonly tries: number;
  readonly due_at: string;
  readonly last_outcome: TryOutcome | null;
  readonly last_status: number | null;
}

/** What people and metrics are shown of outgoing notices. Tests that were sent by hand count nowhere. */
export function noticeLists(rows: Rows): Pick<NoticeTable, 'standing' | 'counts' | 'list' | 'find'> {
  const standing = async (): Promise<readonly ReceiverStanding[]> =>
    (await rows<StandingRow>(STANDING)).map(standingOf);
  return {
    standing,

    async counts() {
      const all = (await standing()).filter(({ state }) => state !== 'removed');
      if (all.length === 0) return null;
      return {
        waiting: all.reduce((sum, { waiting }) => sum + waiting, 0),
        failing: all.reduce((sum, { failing }) => sum + failing, 0),
      };
    },

    async list({ failedOnly }, limit) {
      const found = await rows<NoticeRow>(
        `select ${COLUMNS} from spillway.notice
         where not $1::boolean or state = 'failed' or (state = 'waiting' and last_outcome is not null)
         order by pos desc, seq desc, receiver limit $2`,
        [failedOnly, limit],
      );
      return found.map(listedOf);
    },

    async find(receiver, id) {
      const [row] = await rows<NoticeRow>(
        `select ${COLUMNS} from spillway.notice where receiver = $1 and id = $2`,
        [receiver, id],
      );
      return row === undefined ? null : listedOf(row);
    },
  };
}

const COLUMNS = `receiver, id, type, stream, question, state, spillway.iso(not_before) as not_before, tries,
  spillway.iso(due_at) as due_at, last_outcome, last_status`;

// Whatever waits for a receiver that is gone fails until somebody says otherwise, tried or not.
const STANDING = `
select r.name, r.state, r.pos, spillway.iso(r.since) as since,
  count(n.id) filter (where not n.fails) as waiting,
  count(n.id) filter (where n.fails) as failing,
  coalesce(max(extract(epoch from now() - n.not_before) * 1000) filter (where n.state = 'waiting'), 0)::bigint
    as oldest_ms
from spillway.notice_receiver r
left join lateral (
  select id, state, not_before,
    state = 'failed' or last_outcome is not null or r.state = 'gone' as fails
  from spillway.notice
  where receiver = r.name and type <> 'notice.test'
    and (state = 'failed' or (state = 'waiting' and not_before <= now()))
) n on true
group by r.name order by r.name`;

function standingOf(row: StandingRow): ReceiverStanding {
  return {
    name: row.name,
    state: row.state,
    pos: safeInt(row.pos),
    since: row.since,
    waiting: safeInt(row.waiting),
    failing: safeInt(row.failing),
    oldestS: safeInt(row.oldest_ms) / 1_000,
  };
}

function listedOf(row: NoticeRow): ListedNotice {
  return {
    receiver: row.receiver,
    id: row.id,
    type: row.type,
    stream: row.stream,
    question: row.question,
    state: row.state,
    notBefore: row.not_before,
    tries: row.tries,
    dueAt: row.due_at,
    lastOutcome: row.last_outcome,
    lastStatus: row.last_status,
  };
}
