/**
 * Open alerts of an allocation, counted in its row (failover 13). Null where an older build wrote the row last: it
 * counted none, and a guess of 0 would be told as a difference by every replay.
 */
export const sql = `
alter table spillway.allocation add column alerts integer check (alerts >= 0);
create index allocation_alerts on spillway.allocation (stream) where alerts > 0;

-- As it was, with the open alerts. A half that an older build writes leaves none behind.
create or replace function spillway.write_beside(
  beside jsonb, stream_name text, slot_of integer, dv integer, at_pos bigint
) returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp as $$
begin
  if beside ? 'ring_key_id' then
    insert into spillway.stream_key values (stream_name, beside->>'ring_key_id') on conflict do nothing;
  end if;
  if beside ? 'record_key' then
    insert into spillway.record_key (key_id, stream, wrapped_by, nonce, wrapped)
    select r.key_id, stream_name, r.wrapped_by, decode(r.nonce, 'base64'), decode(r.wrapped, 'base64')
    from jsonb_to_record(beside->'record_key') as r (key_id text, wrapped_by text, nonce text, wrapped text)
    on conflict do nothing;
  end if;
  if beside ? 'sealed' then
    insert into spillway.sealed (stream, digest, key_id, kind, nonce, ciphertext, expires_at)
    select stream_name, r.digest, r.key_id, r.kind, decode(r.nonce, 'base64'),
           decode(r.ciphertext, 'base64'), r.expires_at
    from jsonb_to_recordset(beside->'sealed') as r (
      digest text, key_id text, kind text, nonce text, ciphertext text, expires_at timestamptz
    )
    on conflict do nothing;
  end if;
  if beside ? 'allocation' then
    insert into spillway.allocation (
      stream, slot, status, open_question, question_expires_at, decision_version, pos
    )
    select stream_name, slot_of, r.status, r.open_question, r.question_expires_at, dv, at_pos
    from jsonb_to_record(beside->'allocation') as r (
      status text, open_question text, question_expires_at timestamptz
    )
    on conflict (stream) do update set
      status = excluded.status, open_question = excluded.open_question,
      question_expires_at = excluded.question_expires_at,
      decision_version = excluded.decision_version, pos = excluded.pos;
  end if;
  if beside ? 'placement' then
    insert into spillway.allocation (
      stream, slot, outcome, reason, lane, instance, open_intent, needs_worker, wake_at, retry_at, bills,
      alerts, decision_version, pos
    )
    select stream_name, slot_of, r.outcome, r.reason, r.lane, r.instance, r.open_intent, r.needs_worker,
           r.wake_at, r.retry_at, r.bills, r.alerts, dv, at_pos
    from jsonb_to_record(beside->'placement') as r (
      outcome text, reason text, lane text, instance text, open_intent text, needs_worker boolean,
      wake_at timestamptz, retry_at timestamptz, bills boolean, alerts integer
    )
    on conflict (stream) do update set
      outcome = excluded.outcome, reason = excluded.reason, lane = excluded.lane, instance = excluded.instance,
      open_intent = excluded.open_intent, needs_worker = excluded.needs_worker, wake_at = excluded.wake_at,
      retry_at = excluded.retry_at, bills = excluded.bills, alerts = excluded.alerts,
      decision_version = excluded.decision_version, pos = excluded.pos;
  end if;
  if beside ? 'mark' then
    insert into spillway.mark as m
    values (stream_name, beside->'mark'->>'instance', (beside->'mark'->>'observed_at')::timestamptz)
    on conflict (stream, instance) do update
    set observed_at = greatest(m.observed_at, excluded.observed_at);
  end if;
end $$;
`;
