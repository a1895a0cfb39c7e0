-- Where a job is says what state it is in: a row in `ready` is pending, in `later` scheduled, a clear bit in a `lease`
-- running, a row in `done` terminal. Rows that are hot are narrow; rows that are wide are written once.
-- One principle decides every race: what decides it lives in the row that is locked for it (lease.ended, lease.cancel,
-- done.retried, session.state), so that waiting for the lock re-reads it. Nothing is decided by a snapshot older than the lock.

-- One sequence names jobs and orders `ready`: the ticket of a new job is its id. Neither is cached: a block of numbers held by
-- one connection would be handed out after higher ones.
create sequence deadman.ticket cache 1;
create sequence deadman.fence cache 1;
create sequence deadman.queue_number as int cache 1;

-- Numbers are drawn only for a name that is not there yet.
create table deadman.queue(
    id int primary key,
    name text not null unique,
    paused bool not null default false
);

create table deadman.job(
    id bigint primary key,
    queue int not null,
    priority smallint not null,
    max_attempts smallint not null,
    timeout_us bigint not null,
    created_at timestamptz not null,
    due timestamptz,               -- null: at once
    transactional bool not null,
    kind text not null,
    retry text,                    -- null: the default policy
    unique_key text,
    payload text not null          -- JSON, byte for byte
) partition by range (id);

-- Jobs that outlive the partition of their ids.
create table deadman.job_kept(like deadman.job, primary key (id));

-- flags: 1 transactional, 2 holds a unique key. lane: 0 came back, 1 new, 2 suspect.
create table deadman.ready(
    queue int not null,
    priority smallint not null,
    lane smallint not null,
    ticket bigint not null,
    id bigint not null,
    due timestamptz not null,
    flags smallint not null default 0,
    attempt smallint not null default 0,
    lapses smallint not null default 0,
    crashes smallint not null default 0,
    snoozes int not null default 0,
    primary key (queue, priority, lane, ticket)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- A new job is found through its job row, any other one here; so the hot path never writes to this index.
create unique index ready_moved on deadman.ready(id) where ticket <> id;

create table deadman.later(
    id bigint primary key,
    due timestamptz not null,
    queue int not null,
    priority smallint not null,
    lane smallint not null,
    flags smallint not null default 0,
    attempt smallint not null default 0,
    lapses smallint not null default 0,
    crashes smallint not null default 0,
    snoozes int not null default 0
);
create index later_due on deadman.later(due);

-- The row that renewals rewrite. state: 0 live, 1 ended and still holding leases, 2 closed.
-- held: unended runs at the moment it was marked; counts: whether its lapses blame anybody.
-- lock_epoch: the start of the server under which its advisory lock was last seen held.
create table deadman.session(
    id bigint generated always as identity primary key,
    key uuid not null default gen_random_uuid(),
    lease interval not null,
    hints bool not null,
    lock_epoch timestamptz,
    renewed_at timestamptz not null,
    state smallint not null default 0,
    counts bool not null default true,
    held int,
    ended_at timestamptz,
    end_reason text,
    started bigint[] not null default '{}',
    asked bigint[] not null default '{}'  -- jobs to stop whose lease an operator's cancel could not reach
) with (fillfactor = 50);
create index session_live on deadman.session(id) where state = 0;
create index session_ended on deadman.session(id) where state = 1;

create table deadman.worker(
    session bigint primary key,
    name text not null,
    host text not null,
    pid int not null,
    version text not null,
    queues text[] not null,
    kinds text[] not null,
    solo_kinds text[] not null,
    slots int not null,
    started_at timestamptz not null
);

create table deadman.progress(
    job bigint primary key,
    fence bigint not null,
    percent smallint not null,
    note text not null,
    noted_at timestamptz not null
);
create index progress_noted on deadman.progress(noted_at);

-- One row per claim; one per job where the job may end inside an application's transaction ("solo").
-- A partial completion rewrites two short bit strings and leaves the arrays where they are.
create table deadman.lease(
    fence bigint primary key,
    session bigint not null,
    skey uuid not null,
    claim_no bigint not null,
    slot int not null,
    solo bool not null,
    queue int not null,
    priority smallint not null,
    flags smallint not null,
    seq int not null default 0,
    claimed_at timestamptz not null,
    ids bigint[] not null,
    attempts smallint[] not null,
    lapses smallint[] not null,
    crashes smallint[] not null,
    snoozes int[] not null,
    dues timestamptz[] not null,
    ended varbit not null,
    cancel varbit not null,
    unique (session, claim_no, slot)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create unique index lease_solo on deadman.lease((ids[1])) where solo;

-- state: 1 succeeded, 2 failed, 3 cancelled, 4 expired. lapsed: ended by the reaper, not by its session.
create table deadman.done(
    id bigint not null,
    fence bigint not null,
    session bigint,
    claimed_at timestamptz,
    finished_at timestamptz not null,
    state smallint not null,
    attempt smallint not null,
    retried bool not null default false,
    lapsed bool not null default false,
    lapses smallint,
    crashes smallint,
    snoozes int,
    result text,
    reason text,
    message text
) partition by range (finished_at);
create index done_id on deadman.done(id);
create index done_unsuccessful on deadman.done(finished_at, id) where state <> 1;
create index done_time on deadman.done using brin (finished_at) with (pages_per_range = 16, autosummarize = on);

-- outcome: 11 retry, 12 snooze, 13 release, 14 lapse.
create table deadman.run(
    id bigint not null,
    fence bigint not null,
    session bigint,
    claimed_at timestamptz,
    finished_at timestamptz not null,
    outcome smallint not null,
    attempt smallint not null,
    reason text,
    message text
) partition by range (finished_at);
create index run_id on deadman.run(id);

create table deadman.unique_key(
    key text primary key,
    job bigint not null
);
create index unique_key_job on deadman.unique_key(job);

create table deadman.idempotency(
    key text primary key,
    fingerprint text not null,
    job bigint not null,
    expires_at timestamptz not null
);
create index idempotency_expires on deadman.idempotency(expires_at);

create table deadman.tick(
    one bool primary key default true check (one),
    at timestamptz not null default now(),
    grace_from timestamptz not null default '-infinity',
    grace_until timestamptz not null default '-infinity'
);
insert into deadman.tick default values;

create table deadman.leader(
    one bool primary key default true check (one),
    holder uuid,
    by_lock bool not null default false,
    until timestamptz not null default '-infinity',
    life interval not null default '0'
);
insert into deadman.leader default values;

-- How far each live session has read `ready`; how far everybody has, for good; and up to which ticket nothing can still appear.
create table deadman.cursor(
    session bigint not null,
    queue int not null,
    priority smallint not null,
    lane smallint not null,
    ticket bigint not null,
    primary key (session, queue, priority, lane)
);
create table deadman.mark(
    queue int not null,
    priority smallint not null,
    lane smallint not null,
    ticket bigint not null,
    primary key (queue, priority, lane)
);
create table deadman.horizon(
    ticket bigint primary key,
    xid xid8 not null
);

-- Partitions that are being given up, so that who comes after an interruption ends what was begun, and drops nothing that others detached.
create table deadman.leaving(
    name text primary key,
    parent text not null
);

-- Who would like to be woken. A hint: it may be lost, and it is not worth a log record.
create unlogged table deadman.waiter(
    store uuid primary key,
    queues text[] not null,
    until timestamptz not null
);

-- The server's timeline under which fences were drawn.
create table deadman.cluster(
    one bool primary key default true check (one),
    timeline text not null
);
