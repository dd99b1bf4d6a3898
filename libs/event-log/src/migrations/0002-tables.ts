/** What a command carries beside events, and the rows beside the log (design 4, 5, 6). */
export const sql = `
create table spillway.record_key (
  key_id     text collate "C" primary key,
  stream     text collate "C" not null,
  wrapped_by text collate "C" not null,
  nonce      bytea not null,
  wrapped    bytea not null,
  created_at timestamptz(3) not null default clock_timestamp()
);
create index record_key_stream on spillway.record_key (stream);
create index record_key_wrapped_by on spillway.record_key (wrapped_by);

create table spillway.sealed (
  stream     text collate "C" not null,
  digest     text collate "C" not null,
  key_id     text collate "C" not null,
  kind       text collate "C" not null,
  nonce      bytea not null,
  ciphertext bytea not null,
  expires_at timestamptz(3),
  primary key (stream, digest, key_id)
);
create index sealed_key on spillway.sealed (key_id);
create index sealed_expiry on spillway.sealed (expires_at) where expires_at is not null;

create table spillway.stream_key (
  stream      text collate "C" primary key,
  ring_key_id text collate "C" not null
);
create index stream_key_ring on spillway.stream_key (ring_key_id);

-- Two halves, each null until a command has given it: status to question_expires_at, and outcome to bills.
create table spillway.allocation (
  stream              text collate "C" primary key,
  slot                integer not null,
  status              text collate "C",
  open_question       text collate "C",
  question_expires_at timestamptz(3),
  outcome             text collate "C",
  reason              text collate "C",
  lane                text collate "C",
  instance            text collate "C",
  open_intent         text collate "C",
  needs_worker        boolean,
  wake_at             timestamptz(3),
  retry_at            timestamptz(3),
  bills               boolean,
  decision_version    integer not null,
  pos                 bigint not null,
  check ((outcome is null) = (needs_worker is null) and (outcome is null) = (bills is null))
);
create index allocation_status on spillway.allocation (status, stream) where status is not null;
create index allocation_outcome on spillway.allocation (outcome, stream) where outcome is not null;
create index allocation_work on spillway.allocation (stream) where needs_worker;
create index allocation_question on spillway.allocation (stream) where open_question is not null;
create index allocation_question_end on spillway.allocation (question_expires_at)
  where question_expires_at is not null;
create index allocation_intent on spillway.allocation (stream) where open_intent is not null;
create index allocation_retry on spillway.allocation (retry_at) where retry_at is not null;
create index allocation_bills on spillway.allocation (stream) where bills;

create table spillway.mark (
  stream      text collate "C" not null,
  instance    text collate "C" not null,
  observed_at timestamptz(3) not null,
  primary key (stream, instance)
);

create table spillway.consumer_checkpoint (
  consumer        text collate "C" not null,
  partition       integer not null,
  partition_count integer not null,
  pos             bigint not null,
  hash            text collate "C" not null,
  updated_at      timestamptz(3) not null,
  primary key (consumer, partition)
);

create table spillway.lease (
  name   text collate "C" primary key,
  fence  bigint not null,
  holder text collate "C",
  until  timestamptz(3) not null
);

create table spillway.handler_try (
  consumer  text collate "C" not null,
  partition integer not null,
  pos       bigint not null,
  tries     integer not null,
  primary key (consumer, partition, pos)
);

create table spillway.parked (
  consumer  text collate "C" not null,
  stream    text collate "C" not null,
  first_pos bigint not null,
  reason    text collate "C" not null,
  tries     integer not null,
  parked_at timestamptz(3) not null default clock_timestamp(),
  state     text collate "C" not null default 'parked',
  primary key (consumer, stream)
);

create table spillway.dead_letter (
  id          text collate "C" primary key,
  at          timestamptz(3) not null default clock_timestamp(),
  subject     text collate "C" not null,
  id_digest   text collate "C",
  body_digest text collate "C" not null,
  size_bytes  integer not null,
  problem     text collate "C" not null
);
create index dead_letter_at on spillway.dead_letter (at);

grant select on all tables in schema spillway to spillway_app, spillway_audit, spillway_admin;
grant insert, update on spillway.lease to spillway_app, spillway_admin;
grant insert, update, delete on spillway.handler_try, spillway.parked to spillway_app, spillway_admin;
grant insert on spillway.dead_letter, spillway.record_key to spillway_app, spillway_admin;
grant delete on spillway.dead_letter, spillway.sealed, spillway.record_key to spillway_admin;
grant update on spillway.record_key to spillway_admin;
`;
