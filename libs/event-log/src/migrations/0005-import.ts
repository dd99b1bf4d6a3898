/**
 * How an exported log comes into an empty database (design 5): within one transaction, which is either the whole
 * log or nothing. The append function gives positions and hashes, so it cannot take over what has them; these
 * functions take only what follows on the row before, and only while the log is empty but for what the same
 * transaction has put in. Row 1 was made by this transaction, or nothing is taken.
 */
export const sql = String.raw`
-- Whether this transaction is the one that fills the log. An app that has looked at the empty log has cached its
-- id and made its checkpoints, so a database that an app has run on is not taken.
create function spillway.is_importing() returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from spillway.event e where e.pos = 1 and e.xmin = pg_current_xact_id()::xid
  )
$$;

-- Takes the append lock for the rest of the transaction and gives the empty log its identity.
create function spillway.import_begin(id text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(7309464726741);
  if exists (select from spillway.event) or exists (select from spillway.allocation)
    or exists (select from spillway.stream_key) or exists (select from spillway.record_key)
    or exists (select from spillway.consumer_checkpoint) or exists (select from spillway.lease)
  then
    return false;
  end if;
  -- The owner alone can do this, and the trigger is back before anybody else sees the row.
  alter table spillway.log_meta disable trigger refuse_change;
  update spillway.log_meta set log_id = id;
  alter table spillway.log_meta enable always trigger refuse_change;
  return true;
end $$;

-- Takes the next rows of the log as they were. Refuses the first one that does not follow on the row before.
create function spillway.import_rows(rows jsonb) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
declare
  id        text;
  last_pos  bigint;
  last_hash text;
  last_at   timestamptz;
  bad       bigint;
begin
  perform pg_advisory_xact_lock(7309464726741);
  select m.log_id into strict id from spillway.log_meta m limit 1;
  select e.pos, e.hash, e.recorded_at into last_pos, last_hash, last_at
  from spillway.event e order by e.pos desc limit 1;
  if last_pos is not null and not spillway.is_importing() then
    raise exception 'spillway: rows are imported into an empty log only'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  last_pos := coalesce(last_pos, 0);
  last_hash := coalesce(last_hash, repeat('0', 64));

  insert into spillway.event
  select x.pos, x."occurredAt", x."recordedAt", x."streamVersion", x."decisionVersion", x."commandIndex",
         x."schemaVersion", x.slot, x.format, x.stream, x."eventId", x."commandId", x."commandDigest", x.type,
         x.role, x.body, x.meta, x."prevHash", x.hash
  from jsonb_to_recordset(rows) as x (
    pos bigint, "occurredAt" timestamptz(3), "recordedAt" timestamptz(3), "streamVersion" integer,
    "decisionVersion" integer, "commandIndex" integer, "schemaVersion" integer, slot integer, format integer,
    stream text, "eventId" text, "commandId" text, "commandDigest" text, type text, role text, body text,
    meta text, "prevHash" text, hash text
  )
  order by x.pos;

  select min(e.pos) into bad
  from (
    select r.*, row_number() over w as n, lag(r.hash, 1, last_hash) over w as before_hash,
           lag(r.recorded_at) over w as before_at
    from spillway.event r where r.pos > last_pos
    window w as (order by r.pos)
  ) e
  where e.pos <> last_pos + e.n or e.prev_hash <> e.before_hash
    or e.recorded_at < coalesce(e.before_at, last_at)
    or e.format <> 1
    or e.hash <> encode(sha256('\x01'::bytea || substr(array_send(array[
         id, e.pos::text, e.stream_version::text, e.decision_version::text, e.command_index::text,
         e.schema_version::text, e.slot::text, spillway.iso(e.occurred_at), spillway.iso(e.recorded_at),
         e.stream, e.event_id, e.command_id, e.command_digest, e.type, e.role, e.body, e.meta, e.prev_hash
       ]), 21)), 'hex');
  if bad is not null
    or (select count(*) from spillway.event e where e.pos > last_pos) <> jsonb_array_length(rows)
  then
    raise exception 'spillway: the row at % does not follow on the row before', bad using errcode = 'check_violation';
  end if;
end $$;

-- Writes what is derived from the rows: the candidate list, the ring key of a stream, and the fence of its lease,
-- which must go on rising. Free, since nobody works while a log is imported.
create function spillway.import_beside(rows jsonb) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
declare
  r record;
begin
  if not spillway.is_importing() then
    raise exception 'spillway: what stands beside rows is imported with them only'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  for r in
    select x.* from jsonb_to_recordset(rows) as x (
      stream text, slot integer, dv integer, pos bigint, beside jsonb, fence bigint
    )
    where exists (select from spillway.event e where e.stream = x.stream)
  loop
    perform spillway.write_beside(r.beside, r.stream, r.slot, r.dv, r.pos);
    if r.fence is not null then
      insert into spillway.lease values (r.stream, r.fence, null, clock_timestamp());
    end if;
  end loop;
end $$;

revoke all on all functions in schema spillway from public;
grant execute on function spillway.import_begin(text), spillway.import_rows(jsonb),
  spillway.import_beside(jsonb) to spillway_admin;
`;
