/** Outgoing notices, between the log and their receivers (design 3): not part of what the log proves. */
export const sql = `
create table spillway.notice_receiver (
  name         text collate "C" primary key,
  state        text collate "C" not null default 'active',
  pos          bigint not null,
  since        timestamptz(3) not null default clock_timestamp(),
  paused_until timestamptz(3),
  check (state in ('active', 'gone', 'removed'))
);

create table spillway.notice (
  receiver      text collate "C" not null,
  id            text collate "C" not null,
  type          text collate "C" not null,
  stream        text collate "C" not null,
  pos           bigint not null,
  seq           integer not null,
  question      text collate "C",
  body          text not null,
  not_before    timestamptz(3) not null,
  due_at        timestamptz(3) not null,
  give_up_at    timestamptz(3) not null,
  state         text collate "C" not null default 'waiting',
  tries         integer not null default 0,
  claimed_until timestamptz(3),
  last_outcome  text collate "C",
  last_status   integer,
  settled_at    timestamptz(3),
  primary key (receiver, id),
  check (state in ('waiting', 'delivered', 'failed', 'skipped')),
  check ((state = 'waiting') = (settled_at is null))
);
create index notice_due on spillway.notice (receiver, due_at, pos, seq) where state = 'waiting';
create index notice_test on spillway.notice (receiver, due_at) where state = 'waiting' and type = 'notice.test';
create index notice_line on spillway.notice (receiver, stream, pos, seq)
  where state = 'waiting' or claimed_until is not null;
create index notice_expiring on spillway.notice (receiver, question)
  where state = 'waiting' and type = 'question.expiring';
create index notice_failed on spillway.notice (receiver, due_at) where state = 'failed';
create index notice_settled on spillway.notice (settled_at) where settled_at is not null;

grant select on spillway.notice_receiver, spillway.notice to spillway_app, spillway_audit, spillway_admin;
grant insert, update on spillway.notice_receiver to spillway_app;
grant update on spillway.notice_receiver to spillway_admin;
grant insert, update, delete on spillway.notice to spillway_app;
grant insert, update on spillway.notice to spillway_admin;
`;
