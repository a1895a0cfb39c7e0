-- Each function is called in a transaction of its own. What a reaper may do is decided in the statement that does it, so two reapers, or
-- one that was stopped in between, do no harm.

-- Leadership is an economy. The lock falls with its holder's connection; the row expires for a holder that was stopped, and where it lies
-- further ahead than it was ever set, because the clock was set back.
create function deadman.leadership_is_over(l deadman.leader) returns bool language sql stable as $$
    select l.holder is null or l.until < deadman.now() or l.until - l.life > deadman.now() + interval '1 second'
$$;
create function deadman.may_lead() returns bool language sql stable as $$
    select deadman.leadership_is_over(l) or l.by_lock and not exists (
        select from pg_locks where locktype = 'advisory' and granted and classid = 5918 and objid = 0 and objsubid = 2
            and database = (select oid from pg_database where datname = current_database()))
    from deadman.leader l
$$;
create function deadman.take_leadership(me uuid, has_lock bool, life_us bigint) returns bool language sql as $$
    update deadman.leader l set holder = me, by_lock = has_lock, until = deadman.now() + deadman.span(life_us), life = deadman.span(life_us)
        where holder = me or deadman.leadership_is_over(l) or (has_lock and by_lock)
    returning true
$$;
create function deadman.keep_leadership(me uuid, has_lock bool, life_us bigint) returns bool language sql as $$
    update deadman.leader set by_lock = has_lock, until = deadman.now() + deadman.span(life_us), life = deadman.span(life_us)
        where holder = me returning true
$$;
create function deadman.give_up_leadership(me uuid) returns void language sql as $$
    update deadman.leader set holder = null, until = '-infinity' where holder = me
$$;

-- A gap since the last tick, or between the wall and the steady clock of the caller, means that the store was away or a clock stepped:
-- everybody gets one lease to renew. previous, steady_us: the caller's own last tick and what its steady clock measured since.
-- A clock that was set back must not keep the dead alive for as long as it was set back: no renewal lies ahead.
create function deadman.observe_tick(gap_us bigint, lease_us bigint, previous_us bigint default null, steady_us bigint default null)
returns table(at_us bigint, grace bool) language plpgsql as $$
declare
    gap interval := deadman.span(gap_us);
    outage bool;
begin
    select deadman.now() - t.at > gap or deadman.now() < t.at - gap
            or coalesce(abs(deadman.to_us(deadman.now()) - previous_us - steady_us) > gap_us, false)
        into outage from deadman.tick t for update;
    update deadman.tick t set at = deadman.now(),
        grace_from = case when outage then deadman.now() else t.grace_from end,
        grace_until = case when outage then deadman.now() + greatest(deadman.span(lease_us),
            (select max(s.lease) from deadman.session s where s.state = 0)) else t.grace_until end;
    update deadman.session s set renewed_at = deadman.now() - interval '1 microsecond'
        where s.state = 0 and s.renewed_at >= deadman.now() + case when outage then interval '0' else gap end;
    return query select deadman.to_us(t.at), deadman.now() < t.grace_until from deadman.tick t;
end $$;

-- Marks sessions as ended for good. Only with a fresh tick and outside grace, both as this statement sees them. A hint (the advisory lock is
-- gone) shortens the lease to a grace, and only where the lock was once seen held under this very server process.
-- How many runs each held is counted once, here and in a later snapshot: it sees every claim that was committed before the lock.
create function deadman.reap_sessions(gap_us bigint, hint_grace_us bigint, most int default 100) returns bigint[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    marked bigint[];
begin
    with lapsed as (
        update deadman.session m set state = 1, ended_at = deadman.now(), end_reason = 'lapsed',
            counts = m.renewed_at >= (select grace_from from deadman.tick)
        where m.id in (
            select s.id from deadman.session s, deadman.tick t
            where s.state = 0 and deadman.now() - t.at <= deadman.span(gap_us) and deadman.now() >= t.grace_until
                and (s.renewed_at + s.lease < deadman.now()
                    or s.hints and s.renewed_at + deadman.span(hint_grace_us) < deadman.now()
                        and s.lock_epoch = pg_postmaster_start_time()
                        and not exists (select from pg_locks l where l.locktype = 'advisory' and l.granted and l.classid = 5917
                            and l.objid = deadman.session_lock(s.id)::oid and l.objsubid = 2
                            and l.database = (select oid from pg_database where datname = current_database())))
            order by s.renewed_at limit most for update of s skip locked)
        returning m.id)
    select coalesce(array_agg(id), '{}') into marked from lapsed;
    update deadman.session s set held = (select coalesce(sum(length(l.ended) - bit_count(l.ended)), 0)
            from deadman.lease l where l.session = s.id)
        where s.id = any (marked);
    return marked;
end $$;

-- Returns the runs of ended sessions, and of sessions that somebody deleted. Takes leases with SKIP LOCKED (an open transaction may hold one:
-- the next sweep comes back). A lapse blames: 3 where a renewal had named the run as started, else 1; suspect from 6; a crash where the
-- session had held exactly this one run when it was marked. A suspect that was alone waits first_delay (us), doubled with every crash of
-- its own up to 5 minutes; whoever else lapsed is claimable at once.
create function deadman.reap_leases(max_crashes int, first_delay bigint, only_session bigint default null, most int default 100)
returns table(returned bigint, quarantined bigint) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    keyed bigint[];
    wakes jsonb;
    woken record;
begin
    perform deadman.begin_writing();
    with doomed as materialized (
        select l.*, coalesce(s.counts, true) counts, s.held, coalesce(s.started, '{}') started
        from deadman.lease l left join deadman.session s on s.id = l.session
        where (s.state = 1 or s.id is null) and (only_session is null or l.session = only_session)
        order by l.fence limit most for update of l skip locked),
    runs as materialized (
        select d.fence, d.session, d.claimed_at, d.queue, d.priority, d.flags, u.*, get_bit(d.cancel, u.ord::int - 1) = 1 is_cancelled,
            case when not d.counts then 0 when u.id = any (d.started) then 3 else 1 end blame,
            (d.counts and coalesce(d.held, 0) = 1)::int alone, d.counts
        from doomed d cross join lateral unnest(d.ids, d.attempts, d.lapses, d.crashes, d.snoozes, d.dues)
            with ordinality u(id, attempt, lapsed, crashed, snoozed, due, ord)
        where get_bit(d.ended, u.ord::int - 1) = 0),
    scored as (
        select r.*, least(r.lapsed + r.blame, 30000)::smallint score, least(r.crashed + r.alone, 30000)::smallint crash_count,
            (case when r.is_cancelled then 3 when r.counts and max_crashes > 0 and r.crashed + r.alone >= max_crashes then 2
                else 14 end)::smallint final
        from runs r),
    ends as materialized (
        select s.*, final = 14 and alone = 1 and score >= 6 and first_delay > 0 waits from scored s),
    dropped as (delete from deadman.lease where fence in (select fence from doomed)),
    into_run as (
        insert into deadman.run(id, fence, session, claimed_at, finished_at, outcome, attempt)
        select id, fence, session, claimed_at, deadman.now(), final, attempt from ends where final = 14),
    into_done as (
        insert into deadman.done(id, fence, session, claimed_at, finished_at, state, attempt, lapsed, lapses, crashes, snoozes, reason)
        select id, fence, session, claimed_at, deadman.now(), final, attempt, true, nullif(score, 0), nullif(crash_count, 0),
            nullif(snoozed, 0), case final when 2 then 'quarantined' end
        from ends where final < 10),
    into_ready as (
        insert into deadman.ready(queue, priority, lane, ticket, id, due, flags, attempt, lapses, crashes, snoozes)
        select queue, priority, case when score >= 6 then 2 else 0 end, nextval('deadman.ticket'), id, due, flags, attempt, score,
            crash_count, snoozed
        from (select * from ends where final = 14 and not waits order by fence, ord) e
        returning queue, ticket),
    into_later as (
        insert into deadman.later(id, due, queue, priority, lane, flags, attempt, lapses, crashes, snoozes)
        select id, deadman.now() + least(deadman.span(first_delay) * 2 ^ least(crash_count - 1, 20), interval '5 minutes'), queue, priority, 2,
            flags, attempt, score, crash_count, snoozed
        from ends where waits)
    select (select count(*) from ends where final = 14), (select count(*) from ends where final = 2),
            (select array_agg(id) from ends where final < 10 and flags & 2 = 2),
            (select jsonb_object_agg(queue, lowest) from (select queue, min(ticket) lowest from into_ready group by queue) w)
        into returned, quarantined, keyed, wakes;
    if keyed is not null then
        perform deadman.free_unique_keys(keyed);
    end if;
    for woken in select key::int queue, value::bigint lowest from jsonb_each_text(wakes) loop
        perform deadman.wake(woken.queue, woken.lowest);
    end loop;
    return next;
end $$;

-- A session is closed once nothing of it is left: no claim can add to it any more.
create function deadman.close_sessions() returns void language plpgsql as $$
begin
    update deadman.session s set state = 2 where s.state = 1 and not exists (select from deadman.lease l where l.session = s.id);
    delete from deadman.cursor c where not exists (select from deadman.session s where s.id = c.session and s.state = 0);
    delete from deadman.session s where s.state = 2 and s.ended_at + interval '1 hour' <= deadman.now();
end $$;

-- Moves what lies behind every live cursor into lane 0, where cursors are young, and advances the mark: never past a ticket that an open
-- transaction may still commit (a ticket is closed once every transaction that could have drawn one up to it has ended), nor past a
-- row that it could not lock.
create function deadman.sweep_behind(most int default 1000) returns bigint language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    total bigint := 0;
    moved record;
    at record;
    closed bigint;
    newest bigint;
    left_behind bigint;
    reached bigint;
    lowest bigint;
begin
    select last_value into newest from deadman.ticket;  -- first the sequence, then a snapshot
    insert into deadman.horizon values (newest, pg_snapshot_xmax(pg_current_snapshot())) on conflict do nothing;
    select coalesce(max(ticket), 0) into closed from deadman.horizon where xid <= pg_snapshot_xmin(pg_current_snapshot());
    delete from deadman.horizon where ticket < closed;
    for at in
        select c.queue, c.priority, c.lane, min(c.ticket) low, coalesce(min(m.ticket), 0) mark
        from deadman.cursor c join deadman.session s on s.id = c.session and s.state = 0
            left join deadman.mark m on m.queue = c.queue and m.priority = c.priority and m.lane = c.lane
        group by 1, 2, 3
    loop
        lowest := null;
        loop
            with behind as (
                delete from deadman.ready where (queue, priority, lane, ticket) in (
                    select queue, priority, lane, ticket from deadman.ready
                    where queue = at.queue and priority = at.priority and lane = at.lane and ticket > at.mark and ticket <= at.low
                    order by queue, priority, lane, ticket limit most for update skip locked)
                returning *),
            again as (
                insert into deadman.ready(queue, priority, lane, ticket, id, due, flags, attempt, lapses, crashes, snoozes)
                select queue, priority, 0, nextval('deadman.ticket'), id, due, flags, attempt, lapses, crashes, snoozes
                from (select * from behind order by ticket) b returning ticket)
            select count(*) amount, min(ticket) first into moved from again;
            total := total + moved.amount;
            lowest := coalesce(lowest, moved.first);
            exit when moved.amount < most;
        end loop;
        if lowest is not null then
            perform deadman.wake(at.queue, lowest);
        end if;
        select min(ticket) - 1 into left_behind from deadman.ready
            where queue = at.queue and priority = at.priority and lane = at.lane and ticket > at.mark and ticket <= at.low;
        reached := least(at.low, closed, coalesce(left_behind, at.low));
        insert into deadman.mark as m values (at.queue, at.priority, at.lane, reached)
            on conflict (queue, priority, lane) do update set ticket = greatest(m.ticket, reached) where m.ticket < reached;
    end loop;
    return total;
end $$;

-- Forgets up to `most` jobs that finished before the cutoff, with their runs. Rows of an earlier end that was retried go alone.
-- Never by a sequential scan: the block-range index says at once that nothing is old enough.
create function deadman.prune_rows(cutoff_us bigint, most int) returns bigint language plpgsql set enable_seqscan = off as $$
declare
    cutoff timestamptz := deadman.from_us(cutoff_us);
    old bigint[];
    forgotten bigint[];
begin
    select array_agg(d.id order by d.id) into old from (select id from deadman.done where finished_at <= cutoff
        limit most for update skip locked) d;
    if old is null then
        return 0;
    end if;
    with gone as (delete from deadman.done where id = any (old) and finished_at <= cutoff returning id, retried)
        select array_agg(distinct id order by id) filter (where not retried) into forgotten from gone;
    if forgotten is null then
        return 0;
    end if;
    delete from deadman.run where id = any (forgotten);
    delete from deadman.done where id = any (forgotten);
    delete from deadman.progress where job = any (forgotten);
    delete from deadman.job where id = any (forgotten);
    delete from deadman.job_kept where id = any (forgotten);
    return cardinality(forgotten);
end $$;

create function deadman.forget_keys(most int) returns void language plpgsql as $$
begin
    delete from deadman.idempotency where key in (select key from deadman.idempotency where expires_at <= deadman.now()
        order by expires_at limit most for update skip locked);
    -- Names of workers are shown with their runs, and notes with their jobs: both outlive them by a month or two.
    delete from deadman.worker w where w.started_at < deadman.now() - interval '60 days'
        and not exists (select from deadman.session s where s.id = w.session);
    delete from deadman.progress where job in (select job from deadman.progress where noted_at < deadman.now() - interval '30 days'
        order by noted_at limit most);
    delete from deadman.waiter where until < clock_timestamp() - interval '1 minute';
end $$;
