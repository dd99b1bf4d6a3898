/**
 * The log itself: insert-only, dense in commit order, hash-chained (design 5). Text columns collate "C": an
 * index in the order of a C library breaks when that library is upgraded, and a broken unique index would
 * let a command in twice.
 */
export const sql = `
create table spillway.log_meta (
  log_id     text collate "C" primary key,
  created_at timestamptz(3) not null
);
insert into spillway.log_meta values (gen_random_uuid()::text, clock_timestamp());

create table spillway.event (
  pos              bigint not null primary key,
  occurred_at      timestamptz(3) not null,
  recorded_at      timestamptz(3) not null,
  stream_version   integer not null,
  decision_version integer not null,
  command_index    integer not null,
  schema_version   integer not null,
  slot             integer not null,
  format           integer not null,
  stream           text collate "C" not null,
  event_id         text collate "C" not null,
  command_id       text collate "C" not null,
  command_digest   text collate "C" not null,
  type             text collate "C" not null,
  role             text collate "C" not null,
  body             text collate "C" not null,
  meta             text collate "C" not null,
  prev_hash        text collate "C" not null,
  hash             text collate "C" not null
);
create unique index event_id_once on spillway.event (event_id);
create unique index event_stream on spillway.event (stream, stream_version);
create index event_decisions on spillway.event (stream, type, decision_version) where role = 'decision';

create function spillway.refuse_change() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'spillway: the log is insert-only, % on % is refused', tg_op, tg_table_name
    using errcode = 'insufficient_privilege';
end $$;

create trigger refuse_change before update or delete on spillway.event
  for each row execute function spillway.refuse_change();
create trigger refuse_truncate before truncate on spillway.event
  for each statement execute function spillway.refuse_change();
create trigger refuse_change before update or delete on spillway.log_meta
  for each row execute function spillway.refuse_change();
create trigger refuse_truncate before truncate on spillway.log_meta
  for each statement execute function spillway.refuse_change();

-- ALWAYS: an ordinary trigger does not fire under session_replication_role = replica.
alter table spillway.event enable always trigger refuse_change;
alter table spillway.event enable always trigger refuse_truncate;
alter table spillway.log_meta enable always trigger refuse_change;
alter table spillway.log_meta enable always trigger refuse_truncate;

grant usage on schema spillway to spillway_app, spillway_audit, spillway_admin;
grant select on spillway.event, spillway.log_meta, spillway.migration
  to spillway_app, spillway_audit, spillway_admin;
`;
