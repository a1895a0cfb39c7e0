create function deadman.register_session(worker_name text, worker_host text, worker_pid int, worker_version text, worker_queues text[],
    worker_kinds text[], worker_slots int, lease_us bigint, with_hints bool, worker_solo_kinds text[] default '{}')
returns table(id bigint, key uuid) language sql as $$
    with s as (
        insert into deadman.session(lease, hints, renewed_at) values (deadman.span(lease_us), with_hints, deadman.now())
        returning session.id, session.key),
    w as (
        insert into deadman.worker(session, name, host, pid, version, queues, kinds, solo_kinds, slots, started_at)
        select s.id, worker_name, worker_host, worker_pid, worker_version, worker_queues, worker_kinds, worker_solo_kinds, worker_slots,
            deadman.now() from s)
    select * from s
$$;

-- The two numbers of the advisory lock that stands for a living session.
create function deadman.session_lock(session bigint) returns int language sql immutable as $$
    select (session % 2147483648)::int
$$;

-- The answer is a snapshot: older than what other connections of the worker did meanwhile. running null: as it was.
create function deadman.renew(p_session bigint, p_key uuid, running bigint[] default null)
returns table(fence bigint, claim_no bigint, unended bigint[], cancel_requested bigint[]) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    stops bigint[];
begin
    update deadman.session s set renewed_at = deadman.now(), started = coalesce(running, s.started),
        asked = case when s.asked = '{}' then s.asked else array(select a from unnest(s.asked) a
            where exists (select from deadman.lease l where l.session = s.id and a = any (l.ids)
                and get_bit(l.ended, array_position(l.ids, a) - 1) = 0)) end,
        lock_epoch = case when s.hints and exists (select from pg_locks l where l.locktype = 'advisory' and l.granted
                and l.pid = pg_backend_pid() and l.classid = 5917 and l.objid = deadman.session_lock(s.id)::oid and l.objsubid = 2)
            then pg_postmaster_start_time() else s.lock_epoch end
        where s.id = p_session and s.key = p_key and s.state = 0 returning s.asked into stops;
    if not found then
        raise exception 'session % has ended', p_session using errcode = 'DM001';
    end if;
    return query select l.fence, l.claim_no,
            array(select u.id from unnest(l.ids) with ordinality u(id, ord) where get_bit(l.ended, u.ord::int - 1) = 0),
            case when bit_count(l.cancel) = 0 and stops = '{}' then '{}' else
                array(select u.id from unnest(l.ids) with ordinality u(id, ord)
                    where (get_bit(l.cancel, u.ord::int - 1) = 1 or u.id = any (stops)) and get_bit(l.ended, u.ord::int - 1) = 0) end
        from deadman.lease l where l.session = p_session;
end $$;

create function deadman.note_progress(p_session bigint, jobs bigint[], fences bigint[], percents smallint[], notes text[])
returns void language plpgsql as $$
begin
    insert into deadman.progress as p (job, fence, percent, note, noted_at)
        select distinct on (u.job) u.job, u.fence, u.percent, u.note, deadman.now()
        from unnest(jobs, fences, percents, notes) with ordinality u(job, fence, percent, note, ord)
        where exists (select from deadman.lease l where l.fence = u.fence and l.session = p_session and u.job = any (l.ids))
        order by u.job, u.ord desc
        on conflict (job) do update set fence = excluded.fence, percent = excluded.percent, note = excluded.note, noted_at = excluded.noted_at
            where p.fence <= excluded.fence;
end $$;

-- FOR UPDATE, which a plain update would not take: it waits for a claim in flight, whose leases would otherwise appear under a
-- session that has been closed. Who leaves by himself is not blamed.
create function deadman.end_session(p_session bigint, p_key uuid, reason text) returns bool language plpgsql as $$
begin
    perform from deadman.session s where s.id = p_session and s.key = p_key and s.state = 0 for update;
    if not found then
        return false;
    end if;
    update deadman.session set state = 1, ended_at = deadman.now(), end_reason = reason, counts = false, held = 0 where id = p_session;
    return true;
end $$;

-- For queue and priority where something seems claimable behind the cursors. A session without cursors starts at the common mark.
create function deadman.claimable(names text[], cursor_queues int[], cursor_priorities smallint[], returned bigint[], fresh bigint[])
returns table(queue int, priority smallint, returned_after bigint, fresh_after bigint) language sql stable as $$
    select at.queue, at.priority, at.returned_after, at.fresh_after
    from (select q.id queue, p::smallint priority, w.pos place,
            coalesce(c.returned, (select m.ticket from deadman.mark m where m.queue = q.id and m.priority = p and m.lane = 0), 0) returned_after,
            coalesce(c.fresh, (select m.ticket from deadman.mark m where m.queue = q.id and m.priority = p and m.lane = 1), 0) fresh_after
        from (select name, min(ord) pos from unnest(names) with ordinality n(name, ord) group by name) w
            join deadman.queue q on q.name = w.name and not q.paused
            cross join generate_series(0, 9) p
            left join unnest(cursor_queues, cursor_priorities, returned, fresh) c(queue, priority, returned, fresh)
                on c.queue = q.id and c.priority = p) at
    -- Ordered, so that only the index will do: to a bare EXISTS the whole table read from the start looks cheap where nothing matches.
    where (select true from deadman.ready r where r.queue = at.queue and r.priority = at.priority and r.lane = 0 and r.ticket > at.returned_after
            order by r.queue, r.priority, r.lane, r.ticket limit 1)
        or (select true from deadman.ready r where r.queue = at.queue and r.priority = at.priority and r.lane = 1 and r.ticket > at.fresh_after
            order by r.queue, r.priority, r.lane, r.ticket limit 1)
    order by at.priority, at.place
$$;

create type deadman.claimed as (
    id bigint, fence bigint, solo bool, queue int, queue_name text, priority smallint, lane smallint, ticket bigint, attempt smallint,
    lapses smallint, crashes smallint, claimed_us bigint, kind text, payload text, max_attempts smallint, retry text, timeout_us bigint);

-- Moves rows from `ready` into leases: one for all, one each for transactional jobs, for kinds that the worker always ends in a
-- transaction, and for suspects. Slots go on from first_slot, so that
-- the first lease of any two tries of one claim number is the same and the second try collides.
create function deadman.take(p_session bigint, p_key uuid, p_claim_no bigint, first_slot int, rows tid[])
returns setof deadman.claimed language plpgsql as $$
#variable_conflict use_column
declare
    always_solo text[] := (select w.solo_kinds from deadman.worker w where w.session = p_session);
begin
    return query
    with gone as materialized (delete from deadman.ready where ctid = any (rows) returning *),
    taken as materialized (
        select g.*, g.flags & 1 = 1 or g.lane = 2
            or (always_solo <> '{}' and (select j.kind from deadman.spec_of(g.id) j) = any (always_solo)) alone
        from gone g),
    shared as (
        insert into deadman.lease(fence, session, skey, claim_no, slot, solo, queue, priority, flags, claimed_at,
            ids, attempts, lapses, crashes, snoozes, dues, ended, cancel)
        select nextval('deadman.fence'), p_session, p_key, p_claim_no, first_slot, false, queue, priority, bit_or(flags), deadman.now(),
            array_agg(id), array_agg(attempt), array_agg(lapses), array_agg(crashes), array_agg(snoozes), array_agg(due),
            repeat('0', count(*)::int)::varbit, repeat('0', count(*)::int)::varbit
        from (select * from taken where not alone order by id) t  -- by id: complete_all compares arrays
        group by queue, priority
        returning fence),
    solo as (
        insert into deadman.lease(fence, session, skey, claim_no, slot, solo, queue, priority, flags, claimed_at,
            ids, attempts, lapses, crashes, snoozes, dues, ended, cancel)
        select nextval('deadman.fence'), p_session, p_key, p_claim_no,
            first_slot + (select count(*) from shared) + row_number() over (order by id) - 1, true, queue, priority, flags, deadman.now(),
            array[id], array[attempt], array[lapses], array[crashes], array[snoozes], array[due], '0', '0'
        from taken where alone
        returning fence, ids)
    select t.id, coalesce(o.fence, (select fence from shared)), o.fence is not null, t.queue,
        (select name from deadman.queue q where q.id = t.queue), t.priority, t.lane, t.ticket, t.attempt, t.lapses, t.crashes,
        deadman.to_us(deadman.now()), j.kind, j.payload, j.max_attempts, j.retry, j.timeout_us
    from taken t cross join lateral deadman.spec_of(t.id) j left join solo o on o.ids[1] = t.id
    order by t.lane, t.ticket;
end $$;

-- No claim before the fences have been raised above those of a server that is gone.
create function deadman.check_timeline() returns void language plpgsql as $$
begin
    if (select timeline from deadman.cluster) <> deadman.timeline() then
        raise exception 'the server changed its timeline' using errcode = 'DM005';
    end if;
end $$;

-- KEY SHARE keeps the session from being ended while its claim is in flight, and disturbs no renewal.
create function deadman.hold_session(p_session bigint, p_key uuid) returns void language plpgsql as $$
begin
    perform from deadman.session where id = p_session and key = p_key and state = 0 for key share;
    if not found then
        raise exception 'session % has ended', p_session using errcode = 'DM001';
    end if;
end $$;

-- One pass over queues and priorities. Returned work goes first but leaves a quarter to new work, which would otherwise never start;
-- what new work does not use goes back to it.
create function deadman.claim_pass(p_session bigint, p_key uuid, claim_no bigint, wanted int, first_slot int, names text[],
    cursor_queues int[], cursor_priorities smallint[], returned bigint[], fresh bigint[])
returns setof deadman.claimed language plpgsql as $$
declare
    place record;
    missing int := wanted;
    slot int := first_slot;
    got int;
begin
    for place in select * from deadman.claimable(names, cursor_queues, cursor_priorities, returned, fresh) loop
        return query
        with back as materialized (
            select r.ctid, r.ticket from deadman.ready r where r.queue = place.queue and r.priority = place.priority and r.lane = 0
                and r.ticket > place.returned_after
            order by r.queue, r.priority, r.lane, r.ticket limit missing - missing / 4 for update skip locked),
        new as materialized (
            select r.ctid from deadman.ready r where r.queue = place.queue and r.priority = place.priority and r.lane = 1
                and r.ticket > place.fresh_after
            order by r.queue, r.priority, r.lane, r.ticket limit missing - (select count(*) from back) for update skip locked),
        more as materialized (
            select r.ctid from deadman.ready r where r.queue = place.queue and r.priority = place.priority and r.lane = 0
                and r.ticket > (select max(ticket) from back)
            order by r.queue, r.priority, r.lane, r.ticket
            limit missing - (select count(*) from back) - (select count(*) from new) for update skip locked)
        select * from deadman.take(p_session, p_key, claim_no, slot,
            array(select ctid from back union all select ctid from new union all select ctid from more));
        get diagnostics got = row_count;
        exit when got = missing;
        missing := missing - got;
        slot := slot + case when got > 0 then got + 1 else 0 end;
    end loop;
end $$;

create function deadman.promote_due(most int default 1000) returns bigint language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    moved record;
    total bigint := 0;
begin
    if coalesce((select due from deadman.later order by due limit 1) > deadman.now(), true) then  -- by the index, whatever is due
        return 0;
    end if;
    perform deadman.begin_writing();
    for moved in
        with due as (
            delete from deadman.later where id in (select id from deadman.later where due <= deadman.now()
                order by due limit most for update skip locked) returning *),
        into_ready as (
            insert into deadman.ready(queue, priority, lane, ticket, id, due, flags, attempt, lapses, crashes, snoozes)
            select queue, priority, lane, nextval('deadman.ticket'), id, due, flags, attempt, lapses, crashes, snoozes
            from (select * from due order by due, id) d returning queue, ticket)
        select queue, count(*) amount, min(ticket) lowest from into_ready group by queue
    loop
        total := total + moved.amount;
        perform deadman.wake(moved.queue, moved.lowest);
    end loop;
    return total;
end $$;

-- A claim that comes back short looks again from where its cursors stood a while ago (a row may have become visible behind them), and
-- moves what is due by now.
create function deadman.claim(p_session bigint, p_key uuid, claim_no bigint, wanted int, names text[], cursor_queues int[],
    cursor_priorities smallint[], returned bigint[], fresh bigint[], returned_before bigint[], fresh_before bigint[])
returns setof deadman.claimed language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    got int;
begin
    perform deadman.check_timeline();
    perform deadman.hold_session(p_session, p_key);
    return query select * from deadman.claim_pass(p_session, p_key, claim_no, wanted, 0, names,
        cursor_queues, cursor_priorities, returned, fresh);
    get diagnostics got = row_count;
    if got < wanted then
        perform deadman.promote_due(wanted);
        return query select * from deadman.claim_pass(p_session, p_key, claim_no, wanted - got, 2 * got, names,
            cursor_queues, cursor_priorities, returned_before, fresh_before);
    end if;
end $$;

-- A suspect runs alone: its session must hold nothing.
create function deadman.claim_suspect(p_session bigint, p_key uuid, claim_no bigint, names text[])
returns setof deadman.claimed language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    place tid;
begin
    perform deadman.check_timeline();
    perform deadman.hold_session(p_session, p_key);
    if exists (select from deadman.lease where session = p_session) then
        return;
    end if;
    select r.ctid into place from deadman.queue q cross join generate_series(0, 9) p
        join deadman.ready r on r.queue = q.id and r.priority = p and r.lane = 2
        where q.name = any (names) and not q.paused order by r.priority, r.ticket limit 1 for update of r skip locked;
    if found then
        return query select * from deadman.take(p_session, p_key, claim_no, 0, array[place]);
    end if;
end $$;

-- What a claim of unknown outcome took. Asked first; if it is empty, the claim is repeated under the same number.
create function deadman.claim_result(p_session bigint, p_key uuid, p_claim_no bigint) returns setof deadman.claimed language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    perform deadman.hold_session(p_session, p_key);
    return query
    select u.id, l.fence, l.solo, l.queue, (select name from deadman.queue q where q.id = l.queue), l.priority, 0::smallint, 0::bigint,
        u.attempt, u.lapses, u.crashes, deadman.to_us(l.claimed_at), j.kind, j.payload, j.max_attempts, j.retry, j.timeout_us
    from deadman.lease l cross join lateral unnest(l.ids, l.attempts, l.lapses, l.crashes) with ordinality u(id, attempt, lapses, crashes, ord)
        cross join lateral deadman.spec_of(u.id) j
    where l.session = p_session and l.skey = p_key and l.claim_no = p_claim_no and get_bit(l.ended, u.ord::int - 1) = 0
    order by l.slot, u.ord;
end $$;

create function deadman.publish_cursors(p_session bigint, queues int[], priorities smallint[], lanes smallint[], tickets bigint[])
returns void language plpgsql as $$
begin
    insert into deadman.cursor as c select p_session, u.* from unnest(queues, priorities, lanes, tickets) u
    on conflict (session, queue, priority, lane) do update set ticket = excluded.ticket where c.ticket <> excluded.ticket;
end $$;
