/**
 * The one way into the log (design 5). Called as a statement of its own, so that no client holds the lock
 * over a round trip. Takes the commands in the form of encode-command.ts, answers JSON text.
 *
 * The fate of each command is decided in memory, in order; the events go in by one insert at the end. A call
 * does not see its own inserts, so what it has already decided about a stream or a command id is kept in
 * arrays beside it.
 */
export const sql = String.raw`
-- Stable and not immutable, so that calls are replaced by the expression (measured: 0.5 instead of 2.5 us).
create function spillway.iso(at timestamptz) returns text language sql stable parallel safe
as $$ select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- Whether the session's settings are not those that the append functions need. One expression, since each
-- one that plpgsql evaluates is set up anew in every transaction.
create function spillway.is_unsettled() returns boolean language sql stable
as $$
  select current_setting('transaction_isolation') <> 'read committed' or pg_client_encoding() <> 'UTF8'
    or current_setting('synchronous_commit') = 'off' or current_setting('enable_seqscan') = 'on'
    or current_setting('enable_hashjoin') = 'on' or current_setting('enable_mergejoin') = 'on'
    or current_setting('jit') = 'on'
$$;

-- Makes the settings right for this transaction, or refuses what cannot be made right.
create function spillway.settle() returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'spillway.append needs read committed: any other level reads from before the lock';
  end if;
  if pg_client_encoding() <> 'UTF8' then
    raise exception 'spillway.append needs client_encoding UTF8: the hash input is made in it';
  end if;
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  -- A plan made while the table was empty would scan it for ever: cached plans outlive the table's growth.
  -- Compiling a plan took 40 ms where running it takes 0.1.
  perform set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
          set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true);
end $$;

create function spillway.append(commands jsonb) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  log_id      text;
  last_pos    bigint;
  last_hash   text;
  prev_hash   text;
  last_at     timestamptz;
  recorded    timestamptz(3);
  recorded_as text;
  occurred_as text;
  c           record;
  n           integer := 0;
  results     text := '';
  result      text;
  new_rows    spillway.event[] := '{}';
  first_new   bigint;
  -- What this call has decided so far.
  ids         text[] := '{}';
  id_digests  text[] := '{}';
  id_results  text[] := '{}';
  streams     text[] := '{}';
  versions    integer[] := '{}';
  decisions   integer[] := '{}';
  sv          integer;
  dv          integer;
  i           integer;
  k           integer;
  at_pos      bigint;
  is_fenced   boolean;
  is_repeat   boolean;
begin
  perform pg_advisory_xact_lock(7309464726741);
  if spillway.is_unsettled() then
    perform spillway.settle();
  end if;
  -- A later statement than the lock: read in the same one, the last row would be that of before the lock.
  select m.log_id, e.pos, e.hash, e.recorded_at into strict log_id, last_pos, last_hash, last_at
  from (select x.log_id from spillway.log_meta x limit 1) m
  left join lateral (
    select x.pos, x.hash, x.recorded_at from spillway.event x order by x.pos desc limit 1
  ) e on true;

  last_pos := coalesce(last_pos, 0);
  last_hash := coalesce(last_hash, repeat('0', 64));
  recorded := greatest(date_trunc('milliseconds', clock_timestamp()), last_at);
  recorded_as := spillway.iso(recorded);
  first_new := last_pos + 1;

  for c in
    select x.*,
           d.pos as known_pos, d.command_id as known_command, d.command_digest as known_digest,
           d.recorded_at as known_at,
           t.stream_version as tail_version, t.decision_version as tail_decisions
    from rows from (jsonb_to_recordset(commands) as (
      id text, digest text, stream text, slot integer, expected integer, occurred_at timestamptz(3),
      event_ids text[], types text[], schema_versions integer[], roles text[], bodies text[], metas text[],
      checkpoint jsonb, fence jsonb, lease jsonb, beside jsonb
    )) with ordinality as x (
      id, digest, stream, slot, expected, occurred_at,
      event_ids, types, schema_versions, roles, bodies, metas,
      checkpoint, fence, lease, beside, ord
    )
    left join spillway.event d on d.event_id = x.event_ids[1]
    left join lateral (
      select y.stream_version, y.decision_version from spillway.event y
      where y.stream = x.stream order by y.stream_version desc limit 1
    ) t on true
  loop
    n := n + 1;
    if n > 1 then
      results := results || ',';
    end if;
    if c.ord <> n then
      raise exception 'spillway.append: the commands came out of order';
    end if;

    if c.checkpoint is not null then
      select p.pos into at_pos from spillway.consumer_checkpoint p
      where p.consumer = c.checkpoint->>'consumer' and p.partition = (c.checkpoint->>'partition')::integer;
      if not found
        or at_pos <> (c.checkpoint->>'from')::bigint
        or at_pos > (c.checkpoint->>'to')::bigint
        or not exists (
          select from spillway.event e
          where e.pos = (c.checkpoint->>'to')::bigint and e.hash = c.checkpoint->>'hash'
        )
      then
        results := results || '["stale_consumer",' || coalesce(at_pos, 0) || ']';
        continue;
      end if;
    end if;

    is_fenced := false;
    if c.fence is not null then
      -- The share lock makes a taking wait: between this check and the commit no newer holder can read the log.
      perform from spillway.lease l
      where l.name = c.fence->>'lease' and l.fence = (c.fence->>'fence')::bigint for share;
      is_fenced := not found;
    end if;
    if c.lease is not null and not is_fenced then
      is_fenced := not spillway.is_takeable(c.lease);
    end if;

    -- A repeat of what is recorded is told so whatever its fence: a resend after a lost reply finds its own lease
    -- taken. A conflict of ids is told to a current holder only.
    is_repeat := false;
    if c.event_ids is not null then
      i := array_position(ids, c.id);
      if i is not null then
        is_repeat := id_digests[i] = c.digest;
        if is_repeat then
          result := '["duplicate",' || id_results[i] || ']';
        elsif not is_fenced then
          results := results || '["id_conflict",' || split_part(id_results[i], ',', 1) || ']';
          continue;
        end if;
      elsif c.known_pos is not null then
        is_repeat := c.known_command = c.id and c.known_digest = c.digest;
        if is_repeat then
          select '["duplicate",' || c.known_pos || ',' || e.decision_version || ',"'
                 || spillway.iso(c.known_at) || '"]'
          into strict result
          from spillway.event e
          where e.pos between c.known_pos and c.known_pos + 63 and e.command_id = c.id
          order by e.pos desc limit 1;
        elsif not is_fenced then
          results := results || '["id_conflict",' || c.known_pos || ']';
          continue;
        end if;
      end if;
    end if;
    if is_fenced and not is_repeat then
      results := results || '["fenced"]';
      continue;
    end if;

    if not is_repeat then
      k := array_position(streams, c.stream);
      if k is not null then
        sv := versions[k];
        dv := decisions[k];
      else
        sv := coalesce(c.tail_version, 0);
        dv := coalesce(c.tail_decisions, 0);
      end if;
      if c.expected is not null
        and (case when c.expected = -1 then sv <> 0 else dv <> c.expected end)
      then
        results := results || '["wrong_version",' || dv || ']';
        continue;
      end if;
      if c.lease is not null and not spillway.take_lease(c.lease) then
        results := results || '["fenced"]';
        continue;
      end if;

      result := '0,';
      if c.event_ids is not null then
        result := (last_pos + 1) || ',';
        occurred_as := spillway.iso(c.occurred_at);
        for i in 1..array_length(c.event_ids, 1) loop
          last_pos := last_pos + 1;
          sv := sv + 1;
          if c.roles[i] = 'decision' then
            dv := dv + 1;
          end if;
          prev_hash := last_hash;
          -- array_send writes each element as its length in four bytes and its text, behind a head of 20
          -- bytes: the hash input of chain.ts (measured: 3 us; built field by field 29 us).
          last_hash := encode(sha256('\x01'::bytea || substr(array_send(array[
            log_id, last_pos::text, sv::text, dv::text, (i - 1)::text, c.schema_versions[i]::text,
            c.slot::text, occurred_as, recorded_as, c.stream, c.event_ids[i], c.id, c.digest, c.types[i],
            c.roles[i], c.bodies[i], c.metas[i], prev_hash
          ]), 21)), 'hex');
          new_rows := array_append(new_rows, row(
            last_pos, c.occurred_at, recorded, sv, dv, i - 1, c.schema_versions[i], c.slot, 1,
            c.stream, c.event_ids[i], c.id, c.digest, c.types[i], c.roles[i], c.bodies[i], c.metas[i],
            prev_hash, last_hash
          )::spillway.event);
        end loop;
        if k is not null then
          versions[k] := sv;
          decisions[k] := dv;
        else
          streams := array_append(streams, c.stream);
          versions := array_append(versions, sv);
          decisions := array_append(decisions, dv);
        end if;
        ids := array_append(ids, c.id);
        id_digests := array_append(id_digests, c.digest);
        id_results := array_append(id_results, result || dv || ',"' || recorded_as || '"');
      end if;
      result := '["appended",' || result || dv || ',"' || recorded_as || '"]';
      if c.beside is not null then
        perform spillway.write_beside(c.beside, c.stream, c.slot, dv, last_pos);
      end if;
    end if;

    if c.checkpoint is not null then
      update spillway.consumer_checkpoint p
      set pos = (c.checkpoint->>'to')::bigint, hash = c.checkpoint->>'hash', updated_at = recorded
      where p.consumer = c.checkpoint->>'consumer' and p.partition = (c.checkpoint->>'partition')::integer;
    end if;
    results := results || result;
  end loop;

  if last_pos >= first_new then
    insert into spillway.event select r.* from unnest(new_rows) as r;
    perform pg_notify('spillway_log', last_pos::text);
  end if;
  return '[' || results || ']';
end $$;

-- The same for one command of one event without checkpoint, fence and lease, which is most of what is appended at
-- low load: one statement behind the lock (measured: half the processor time of the general way).
create function spillway.append_one(
  id text, digest text, stream_name text, slot_of integer, expected integer, occurred_at timestamptz(3),
  id_of_event text, type_name text, schema_version integer, role_name text, body text, meta text, beside jsonb
) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  result text;
  is_new boolean;
  dv     integer;
  pos    bigint;
begin
  perform pg_advisory_xact_lock(7309464726741);
  if spillway.is_unsettled() then
    perform spillway.settle();
  end if;

  with found as materialized (
    select m.log_id, coalesce(h.pos, 0) + 1 as pos, coalesce(h.hash, repeat('0', 64)) as prev_hash,
           greatest(date_trunc('milliseconds', clock_timestamp()), h.recorded_at)::timestamptz(3) as at,
           coalesce(t.stream_version, 0) + 1 as sv, coalesce(t.decision_version, 0) as dv,
           k.pos as known_pos, k.recorded_at as known_at,
           k.command_id = $1 and k.command_digest = $2 as is_same
    from (select x.log_id from spillway.log_meta x limit 1) m
    left join lateral (
      select x.pos, x.hash, x.recorded_at from spillway.event x order by x.pos desc limit 1
    ) h on true
    left join lateral (
      select y.stream_version, y.decision_version from spillway.event y
      where y.stream = $3 order by y.stream_version desc limit 1
    ) t on true
    left join spillway.event k on k.event_id = $7
  ), written as (
    insert into spillway.event
    select f.pos, $6, f.at, f.sv, f.dv + ($10 = 'decision')::integer, 0, $9, $4, 1,
           $3, $7, $1, $2, $8, $10, $11, $12, f.prev_hash,
           encode(sha256('\x01'::bytea || substr(array_send(array[
             f.log_id, f.pos::text, f.sv::text, (f.dv + ($10 = 'decision')::integer)::text, '0', $9::text,
             $4::text, spillway.iso($6), spillway.iso(f.at), $3, $7, $1, $2, $8, $10, $11, $12, f.prev_hash
           ]), 21)), 'hex')
    from found f
    where f.known_pos is null and ($5 is null or case when $5 = -1 then f.sv = 1 else f.dv = $5 end)
    returning event.pos, event.decision_version
  )
  select case
      when w.pos is not null
        then '["appended",' || w.pos || ',' || w.decision_version || ',"' || spillway.iso(f.at) || '"]'
      when f.known_pos is null then '["wrong_version",' || f.dv || ']'
      when f.is_same then '["duplicate",' || f.known_pos || ',' || (
          select e.decision_version from spillway.event e
          where e.pos between f.known_pos and f.known_pos + 63 and e.command_id = $1
          order by e.pos desc limit 1
        ) || ',"' || spillway.iso(f.known_at) || '"]'
      else '["id_conflict",' || f.known_pos || ']'
    end,
    w.pos is not null, w.decision_version, w.pos
  into result, is_new, dv, pos
  from found f left join written w on true;

  if is_new then
    perform pg_notify('spillway_log', pos::text);
    if beside is not null then
      perform spillway.write_beside(beside, stream_name, slot_of, dv, pos);
    end if;
  end if;
  return '[' || result || ']';
end $$;

-- Makes the row of one partition. Under the append lock, since a step compares and sets without a row lock.
create function spillway.ensure_checkpoint(
  consumer_name text, partition_no integer, partitions integer, start_at bigint
) returns setof spillway.consumer_checkpoint language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(7309464726741);
  if not exists (select from spillway.consumer_checkpoint k where k.consumer = consumer_name
                 and k.partition_count <> partitions)
  then
    insert into spillway.consumer_checkpoint
    select consumer_name, partition_no, partitions, start_at,
           case when start_at = 0 then repeat('0', 64)
                else (select e.hash from spillway.event e where e.pos = start_at) end,
           clock_timestamp()
    on conflict do nothing;
  end if;
  return query select k.* from spillway.consumer_checkpoint k
    where k.consumer = consumer_name and (k.partition = partition_no or k.partition_count <> partitions)
    order by k.partition_count <> partitions desc, k.partition limit 1;
end $$;

-- Lays a consumer out anew: every partition starts at the lowest position that any of the old ones reached.
create function spillway.repartition(consumer_name text, partitions integer) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
declare
  lowest record;
begin
  perform pg_advisory_xact_lock(7309464726741);
  select k.pos, k.hash into lowest from spillway.consumer_checkpoint k
  where k.consumer = consumer_name order by k.pos limit 1;
  if not found then
    return;
  end if;
  delete from spillway.consumer_checkpoint k where k.consumer = consumer_name;
  delete from spillway.handler_try h where h.consumer = consumer_name;
  insert into spillway.consumer_checkpoint
  select consumer_name, p, partitions, lowest.pos, lowest.hash, clock_timestamp()
  from generate_series(0, partitions - 1) as p;
end $$;

-- Apps may drop what its retention has ended for, and nothing else.
create function spillway.drop_expired(at_most integer) returns bigint language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  with gone as (
    delete from spillway.sealed s using (
      select x.stream, x.digest, x.key_id from spillway.sealed x
      where x.expires_at <= clock_timestamp() order by x.expires_at limit at_most for update skip locked
    ) old
    where s.stream = old.stream and s.digest = old.digest and s.key_id = old.key_id
    returning 1
  )
  select count(*) from gone
$$;

revoke all on all functions in schema spillway from public;
grant execute on function spillway.iso(timestamptz)
  to spillway_app, spillway_audit, spillway_admin;
grant execute on function spillway.append(jsonb), spillway.drop_expired(integer),
  spillway.append_one(text, text, text, integer, integer, timestamptz, text, text, integer, text, text, text,
    jsonb),
  spillway.ensure_checkpoint(text, integer, integer, bigint) to spillway_app, spillway_admin;
grant execute on function spillway.repartition(text, integer) to spillway_admin;
`;
