import type { Pool, QueryResultRow } from 'pg';
import type { ClaimedNotice, NoticeReceiver, NoticeTable, ReceiverState } from '#domain/prompt/notice-table';
import { reading } from './failures.ts';
import { noticeLists } from './notice-lists.ts';
import { safeInt } from './rows.ts';

interface ReceiverRow {
  readonly name: string;
  readonly state: ReceiverState;
  readonly pos: string;
  readonly since: string;
}

/** Outgoing notices on Postgres. Every change is one statement: nobody holds a lock while something is sent. */
export function noticeTable(pool: Pool): NoticeTable {
  async function rows<Row extends QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> {
    const found = await reading(() => pool.query<Row>(text, [...values]));
    return found.rows;
  }

  return {
    ...noticeLists(rows),

    async syncReceivers(names) {
      await rows(SYNC, [[...names]]);
    },

    async backToHead() {
      await rows(
        `update spillway.notice_receiver r set pos = head.pos
         from (select coalesce(max(pos), 0) as pos from spillway.event) head
         where r.pos > head.pos`,
      );
    },

    async receivers() {
      const found = await rows<ReceiverRow>(
        'select name, state, pos, spillway.iso(since) as since from spillway.notice_receiver order by name',
      );
      return found.map(receiverOf);
    },

    async add({ receiver, from, to, notices, ended, giveUpMs }) {
      const given = notices.map(({ notBefore, ...notice }) => ({ ...notice, not_before: notBefore }));
      const [row] = await rows<{ moved: boolean }>(ADD, [
        receiver,
        from,
        to,
        [...ended],
        JSON.stringify(given),
        giveUpMs,
      ]);
      return row?.moved === true;
    },

    async claim(receiver, limit, claimMs) {
      return rows<ClaimedNotice>(CLAIM, [receiver, limit, claimMs]);
    },

    async delivered({ receiver, id, tries }, status) {
      await rows(DELIVERED, [receiver, id, tries, status]);
    },

    async failed({ receiver, id, tries }, { outcome, status, pauseMs, receiverPauseMs, isGone }) {
      await rows(FAILED, [receiver, id, tries, outcome, status, pauseMs, receiverPauseMs, isGone]);
    },

    async release({ receiver, id, tries }) {
      await rows(
        `update spillway.notice set claimed_until = null
         where receiver = $1 and id = $2 and tries = $3`,
        [receiver, id, tries],
      );
    },

    async addTest({ receiver, id, body }) {
      // In a line of its own: it stands behind nothing and holds up nothing.
      await rows(
        `insert into spillway.notice
           (receiver, id, type, stream, pos, seq, body, not_before, due_at, give_up_at)
         values ($1, $2, 'notice.test', $2, 0, 0, $3, now(), now(), now())`,
        [receiver, id, body],
      );
    },

    async retry(receiver, { givenUp, giveUpMs }) {
      const [row] = await rows<{ known: boolean; due: string }>(RETRY, [receiver, givenUp, giveUpMs]);
      return row?.known === true ? safeInt(row.due) : null;
    },

    async dropSettled({ delivered, failed }, limit) {
      const dropped = await rows(DROP, [delivered, failed, limit]);
      return dropped.length;
    },
  };
}

const SYNC = `
with named as (
  insert into spillway.notice_receiver as r (name, pos)
  select name, coalesce((select max(pos) from spillway.event), 0) from unnest($1::text[]) as name
  on conflict (name) do update set state = 'active', since = clock_timestamp() where r.state = 'removed'
)
update spillway.notice_receiver set state = 'removed', since = clock_timestamp()
where state <> 'removed' and not (name = any ($1::text[]))`;

const ADD = `
with moved as (
  update spillway.notice_receiver set pos = $3 where name = $1 and pos = $2 returning name
), skipped as (
  update spillway.notice n set state = 'skipped', settled_at = clock_timestamp()
  from moved m
  where n.receiver = m.name and n.state = 'waiting' and n.type = 'question.expiring'
    and n.question = any ($4::text[])
  returning n.id
), added as (
  insert into spillway.notice
    (receiver, id, type, stream, pos, seq, question, body, not_before, due_at, give_up_at)
  select m.name, r.id, r.type, r.stream, r.pos, r.seq, r.question, r.body, r.not_before, r.not_before,
         greatest(r.not_before, clock_timestamp()) + $6::bigint * interval '1 ms'
  from moved m cross join jsonb_to_recordset($5::jsonb) as r (
    id text, type text, stream text, pos bigint, seq integer, question text, body text, not_before timestamptz
  )
  on conflict do nothing returning id
)
select exists (select from moved) as moved`;

// A skipped notice that is being sent still stands before what follows: told in order, or not at all. More are
// looked at than are taken, since another process may be taking the first ones at this moment.
const CLAIM = `
with test as (
  select receiver, id from spillway.notice
  where receiver = $1 and state = 'waiting' and type = 'notice.test' and due_at <= now()
  order by due_at limit $2
), line as (
  select n.receiver, n.id
  from spillway.notice_receiver r cross join lateral (
    select n.receiver, n.id from spillway.notice n
    where n.receiver = r.name and n.state = 'waiting' and n.due_at <= now()
      and (n.claimed_until is null or n.claimed_until <= now())
      and not exists (
        select from spillway.notice e
        where e.receiver = n.receiver and e.stream = n.stream and (e.pos, e.seq) < (n.pos, n.seq)
          and (e.claimed_until > now() or (e.state = 'waiting' and e.not_before <= now()))
      )
    order by n.due_at, n.pos, n.seq limit 2 * $2::integer
  ) n
  where r.name = $1 and r.state = 'active' and (r.paused_until is null or r.paused_until <= now())
), due as (
  select n.receiver, n.id
  from (select * from test union select * from line) c
  join spillway.notice n on n.receiver = c.receiver and n.id = c.id
  where n.state = 'waiting' and (n.claimed_until is null or n.claimed_until <= now())
  order by n.due_at, n.pos, n.seq limit $2
  for update of n skip locked
)
update spillway.notice n
set tries = n.tries + 1, claimed_until = clock_timestamp() + $3::bigint * interval '1 ms'
from due d where n.receiver = d.receiver and n.id = d.id
returning n.receiver, n.id, n.type, n.body, n.tries`;

const DELIVERED = `
update spillway.notice
set state = 'delivered', settled_at = clock_timestamp(), claimed_until = null,
    last_outcome = 'delivered', last_status = $4
where receiver = $1 and id = $2 and tries = $3`;

// What stands behind it cannot go before it: due no earlier either, or each look for due notices would meet it.
const FAILED = `
with paused as (
  update spillway.notice_receiver set
    state = case when $8::boolean and state = 'active' then 'gone' else state end,
    since = case when $8::boolean and state = 'active' then clock_timestamp() else since end,
    paused_until = case when $7::bigint > 0
      then greatest(paused_until, clock_timestamp() + $7::bigint * interval '1 ms') else paused_until end
  where name = $1 and ($8::boolean or $7::bigint > 0)
), tried as (
  select receiver, id, stream, pos, seq, now() + $6::bigint * interval '1 ms' as due_at,
    state = 'waiting' and now() + $6::bigint * interval '1 ms' > give_up_at as given_up, state
  from spillway.notice
  where receiver = $1 and id = $2 and tries = $3 and state in ('waiting', 'skipped')
), behind as (
  update spillway.notice n set due_at = t.due_at
  from tried t
  where t.state = 'waiting' and not t.given_up
    and n.receiver = t.receiver and n.stream = t.stream and (n.pos, n.seq) > (t.pos, t.seq)
    and n.state = 'waiting' and n.due_at < t.due_at
)
update spillway.notice n set
  claimed_until = null, last_outcome = $4, last_status = $5, due_at = t.due_at,
  state = case when t.given_up then 'failed' else n.state end,
  settled_at = case when t.given_up then clock_timestamp() else n.settled_at end
from tried t
where n.receiver = t.receiver and n.id = t.id and n.tries = $3`;

const RETRY = `
with receiver as (
  update spillway.notice_receiver set
    state = case when state = 'gone' then 'active' else state end,
    since = case when state = 'gone' then clock_timestamp() else since end,
    paused_until = null
  where name = $1 returning name
), again as (
  update spillway.notice n set
    state = 'waiting', settled_at = null, due_at = now(),
    give_up_at = now() + $3::bigint * interval '1 ms'
  from receiver r
  where n.receiver = r.name and n.type <> 'notice.test' and n.not_before <= now()
    and ((n.state = 'waiting' and (n.claimed_until is null or n.claimed_until <= now()))
      or ($2::boolean and n.state = 'failed'))
  returning n.id
)
select exists (select from receiver) as known, (select count(*) from again) as due`;

const DROP = `
delete from spillway.notice where (receiver, id) in (
  select receiver, id from spillway.notice
  where settled_at < now() - case when state = 'failed' then $2::bigint else $1::bigint end * interval '1 ms'
    and (claimed_until is null or claimed_until <= now())
  order by settled_at limit $3
  for update skip locked
)
returning id`;

function receiverOf({ name, state, pos, since }: ReceiverRow): NoticeReceiver {
  return { name, state, pos: safeInt(pos), since };
}
