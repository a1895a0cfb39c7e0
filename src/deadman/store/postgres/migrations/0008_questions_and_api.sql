create function deadman.count_outstanding() returns bigint language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select (select count(*) from deadman.ready) + (select count(*) from deadman.later)
        + (select coalesce(sum(length(ended) - bit_count(ended)), 0) from deadman.lease)::bigint
$$;

-- Everything about jobs that is shown, for those of the ids that exist. One statement: each is in exactly one place.
create function deadman.describe(wanted bigint[])
returns table(id bigint, state text, kind text, queue text, priority smallint, payload text, attempt smallint, max_attempts smallint,
    retry text, timeout_us bigint, transactional bool, unique_key text, lapses int, crashes int, snoozes int, cancel_requested bool,
    created_us bigint, due_us bigint, fence bigint, session bigint, worker text, claimed_us bigint, finished_us bigint, reason text,
    message text, result text, percent smallint, note text)
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
    return query
    with spec as materialized (select s.* from (select distinct unnest(wanted)) w(id) cross join lateral deadman.spec_of(w.id) s),
    place as (
        select r.id, 'pending'::text state, r.attempt, r.lapses, r.crashes, r.snoozes, false cancel_requested, r.due, null::bigint fence,
            null::bigint session, null::timestamptz claimed_at, null::timestamptz finished_at, null::text reason, null::text message, null::text result
        from spec s join deadman.ready r on r.queue = s.queue and r.priority = s.priority and r.lane = 1 and r.ticket = s.id
        union all
        select r.id, 'pending', r.attempt, r.lapses, r.crashes, r.snoozes, false, r.due, null, null, null, null, null, null, null
        from deadman.ready r where r.id = any (wanted) and r.ticket <> r.id
        union all
        select l.id, 'scheduled', l.attempt, l.lapses, l.crashes, l.snoozes, false, l.due, null, null, null, null, null, null, null
        from deadman.later l where l.id = any (wanted)
        union all
        select u.id, 'running', u.attempt, u.lapses, u.crashes, u.snoozes, get_bit(l.cancel, u.ord::int - 1) = 1, u.due, l.fence,
            l.session, l.claimed_at, null, null, null, null
        from deadman.lease l cross join lateral unnest(l.ids, l.attempts, l.lapses, l.crashes, l.snoozes, l.dues)
            with ordinality u(id, attempt, lapses, crashes, snoozes, due, ord)
        where l.ids && wanted and u.id = any (wanted) and get_bit(l.ended, u.ord::int - 1) = 0
        union all
        select d.id, (array['succeeded', 'failed', 'cancelled', 'expired'])[d.state], d.attempt, coalesce(d.lapses, 0), coalesce(d.crashes, 0),
            coalesce(d.snoozes, 0), d.state = 3 and d.claimed_at is not null, null, case when d.claimed_at is not null then d.fence end, null, d.claimed_at, d.finished_at,
            case when d.state = 3 then 'cancelled' else d.reason end, d.message, d.result
        from deadman.done d where d.id = any (wanted) and not d.retried)
    select s.id, p.state, s.kind, (select name from deadman.queue q where q.id = s.queue), s.priority, s.payload, p.attempt, s.max_attempts,
        s.retry, s.timeout_us, s.transactional, s.unique_key, p.lapses::int, p.crashes::int, p.snoozes, p.cancel_requested,
        deadman.to_us(s.created_at), deadman.to_us(coalesce(p.due, s.due, s.created_at)), coalesce(p.fence, last_run.fence), p.session,
        (select w.name from deadman.worker w where w.session = p.session), deadman.to_us(coalesce(p.claimed_at, last_run.claimed_at)),
        deadman.to_us(p.finished_at), p.reason, coalesce(p.message, last_message.message), p.result, g.percent, g.note
    from spec s join place p on p.id = s.id
        left join lateral (select r.fence, r.claimed_at from deadman.run r where r.id = s.id and p.fence is null
            order by r.fence desc limit 1) last_run on true
        left join lateral (select e.message from (
                select r.fence, r.message from deadman.run r where r.id = s.id and r.message is not null
                union all select d.fence, d.message from deadman.done d where d.id = s.id and d.retried and d.message is not null) e
            where p.message is null order by e.fence desc limit 1) last_message on true
        left join deadman.progress g on g.job = s.id and g.fence = coalesce(p.fence, last_run.fence);
end $$;

create function deadman.runs_of(p_id bigint)
returns table(fence bigint, outcome smallint, attempt smallint, session bigint, worker text, claimed_us bigint, finished_us bigint, reason text,
    message text) language sql stable as $$
    select e.fence, e.outcome, e.attempt, e.session, (select w.name from deadman.worker w where w.session = e.session),
        deadman.to_us(e.claimed_at), deadman.to_us(e.finished_at), e.reason, e.message
    from (select fence, outcome, attempt, session, claimed_at, finished_at, reason, message from deadman.run where id = p_id
        union all
        select fence, state, attempt, session, claimed_at, finished_at, reason, message from deadman.done
            where id = p_id and claimed_at is not null
        union all
        select l.fence, 0::smallint, l.attempts[array_position(l.ids, p_id)], l.session, l.claimed_at, null, null, null from deadman.lease l
            where p_id = any (l.ids) and get_bit(l.ended, array_position(l.ids, p_id) - 1) = 0) e
    order by e.fence
$$;

-- Ids of unfinished jobs in the given places, highest first. Each branch reads its index from the top; a queue's new work is found through
-- the tickets, which are its ids.
create function deadman.unfinished(pending bool, scheduled bool, running bool, in_queue text, below bigint, most int)
returns table(id bigint) language sql stable as $$
    select u.id from (
        (select n.id from deadman.queue q cross join generate_series(0, 9) p cross join lateral (
                select r.id from deadman.ready r where r.queue = q.id and r.priority = p and r.lane = 1 and r.ticket < below and r.ticket = r.id
                order by r.queue desc, r.priority desc, r.lane desc, r.ticket desc limit most) n
            where pending and (in_queue is null or q.name = in_queue))
        union all
        (select r.id from deadman.ready r where pending and r.ticket <> r.id and r.id < below
            and (in_queue is null or r.queue = (select q.id from deadman.queue q where q.name = in_queue)) order by r.id desc limit most)
        union all
        (select l.id from deadman.later l where scheduled and l.id < below
            and (in_queue is null or l.queue = (select q.id from deadman.queue q where q.name = in_queue)) order by l.id desc limit most)
        union all
        (select u.id from deadman.lease l cross join lateral unnest(l.ids) with ordinality u(id, ord)
            where running and u.id < below and get_bit(l.ended, u.ord::int - 1) = 0
                and (in_queue is null or l.queue = (select q.id from deadman.queue q where q.name = in_queue)) order by u.id desc limit most)) u
    order by u.id desc limit most
$$;

-- Finished jobs before (time, id), newest first. Failures are found by their own index; among successes, time windows that grow tenfold
-- backwards are read through the block-range index until one holds enough.
create function deadman.finished_before(states smallint[], from_us bigint, before_us bigint, before_id bigint, in_queue text, most int)
returns table(id bigint, finished_us bigint) language plpgsql stable set enable_seqscan = off as $$
declare
    high timestamptz := deadman.from_us(before_us);
    low timestamptz;
    floor timestamptz := greatest(deadman.from_us(from_us), (select min(p.low::timestamptz) from deadman.partitions('done') p));
    span interval := interval '1 minute';
    amount bigint;
    queue_number int := (select q.id from deadman.queue q where q.name = in_queue);
begin
    high := least(high, deadman.now() + interval '1 day');
    if not 1 = any (states) then
        return query select d.id, deadman.to_us(d.finished_at) from deadman.done d
            where d.state <> 1 and d.state = any (states) and not d.retried
                and d.finished_at >= floor and (d.finished_at, d.id) < (deadman.from_us(before_us), before_id)
                and (in_queue is null or queue_number = (select j.queue from deadman.spec_of(d.id) j))
            order by d.finished_at desc, d.id desc limit most;
        return;
    end if;
    loop
        low := greatest(high - span, floor);
        select count(*) into amount from (select from deadman.done d where d.finished_at >= low
            and (d.finished_at, d.id) < (deadman.from_us(before_us), before_id) and d.state = any (states) and not d.retried
            and (in_queue is null or queue_number = (select j.queue from deadman.spec_of(d.id) j)) limit most) x;
        exit when amount >= most or low <= floor;
        span := span * 10;
    end loop;
    return query select d.id, deadman.to_us(d.finished_at) from deadman.done d where d.finished_at >= low
            and (d.finished_at, d.id) < (deadman.from_us(before_us), before_id) and d.state = any (states) and not d.retried
            and (in_queue is null or queue_number = (select j.queue from deadman.spec_of(d.id) j))
        order by d.finished_at desc, d.id desc limit most;
end $$;

create function deadman.queue_counts()
returns table(name text, paused bool, pending bigint, scheduled bigint, running bigint, oldest_us bigint) language sql stable as $$
    select q.name, q.paused, coalesce(r.amount, 0), coalesce(l.amount, 0), coalesce(h.amount, 0), deadman.to_us(r.oldest)
    from deadman.queue q
        left join (select queue, count(*) amount, min(due) oldest from deadman.ready group by queue) r on r.queue = q.id
        left join (select queue, count(*) amount from deadman.later group by queue) l on l.queue = q.id
        left join (select queue, sum(length(ended) - bit_count(ended))::bigint amount from deadman.lease group by queue) h on h.queue = q.id
    order by q.name
$$;

create function deadman.session_list()
returns table(id bigint, worker text, host text, pid int, version text, queues text, kinds text, slots int, running bigint, held bigint,
    started_us bigint, renewed_us bigint, until_us bigint, ended_us bigint, end_reason text) language sql stable as $$
    select s.id, w.name, w.host, w.pid, w.version, array_to_json(w.queues)::text, array_to_json(w.kinds)::text, w.slots,
        coalesce(h.running, 0), coalesce(h.held, 0), deadman.to_us(w.started_at), deadman.to_us(s.renewed_at),
        deadman.to_us(s.renewed_at + s.lease), deadman.to_us(s.ended_at), s.end_reason
    from deadman.session s join deadman.worker w on w.session = s.id
        left join lateral (select count(*) held, count(*) filter (where u.id = any (s.started)) running
            from deadman.lease l cross join lateral unnest(l.ids) with ordinality u(id, ord)
            where l.session = s.id and get_bit(l.ended, u.ord::int - 1) = 0) h on true
    order by s.id
$$;

-- What an operator should know. severity: ok, notice, warning, problem.
create function deadman.examine() returns table(severity text, name text, message text) language sql stable as $$
    select case when current_setting('server_version_num')::int < 150000 then 'problem' else 'ok' end, 'server_version',
        current_setting('server_version') || case when current_setting('server_version_num')::int < 150000
            then ': older than what has been tried, 15' else '' end
    union all
    select case when days < 2 then 'problem' when days < 5 then 'warning' else 'ok' end, 'partitions_ahead',
        format('partitions for finished jobs reach %s days ahead%s', days,
            case when days < 5 then ': upkeep makes them; does a server or worker run?' else '' end)
    from (select floor(extract(epoch from max(p.high::timestamptz) - deadman.now()) / 86400)::int days from deadman.partitions('done') p) d
    union all
    select case when ranges < 1 then 'problem' else 'ok' end, 'job_ranges_ahead', format('%s id ranges ahead', ranges)
    from (select count(*) ranges from deadman.partitions('job') p where p.low::bigint > (select last_value from deadman.ticket)) r
    union all
    select case when current_setting(s.name) in ('off', 'local') then 'problem' else 'ok' end, s.name,
        s.name || ' is ' || current_setting(s.name) || case when current_setting(s.name) in ('off', 'local')
            then ': an accepted job may be lost with the machine' else '' end
    from (values ('fsync'), ('full_page_writes')) s(name)
    union all
    select 'warning', 'snapshot_pinned', format('process %s (%s, %s) has had a transaction open for %s: dead rows cannot be cleared, and the '
            'mark of the sweeper waits for it', a.pid, a.application_name, a.state, date_trunc('second', clock_timestamp() - a.xact_start))
    from pg_stat_activity a where a.xact_start < clock_timestamp() - interval '1 minute' and a.backend_type = 'client backend'
    union all
    select 'warning', 'blocked', format('process %s waits for process(es) %s: %s', a.pid, array_to_string(pg_blocking_pids(a.pid), ', '),
            left(a.query, 80))
    from pg_stat_activity a where a.datname = current_database() and a.wait_event_type = 'Lock'
        and a.state_change < clock_timestamp() - interval '2 seconds'
    union all
    select 'notice', 'no_upkeep', format('the last sweep was %s ago: due jobs and dead workers wait',
            date_trunc('second', deadman.now() - t.at))
    from deadman.tick t where t.at < deadman.now() - interval '10 seconds'
    union all
    select 'warning', 'timeline', 'the server has changed its timeline since the last claim: fences will be raised before the next'
    from deadman.cluster c where c.timeline <> deadman.timeline()
$$;

-- ---- for applications, in any language, inside their own transactions ---------------------------------------------------------------------

create function deadman.check_name(field text, name text) returns void language plpgsql immutable as $$
begin
    if name is null or name !~ '^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,199}$' then
        raise exception '%: must be 1 to 200 of ASCII letters, digits and _ . : / -, beginning with a letter or digit', field
            using errcode = 'invalid_parameter_value';
    end if;
end $$;

-- Refuses what other stores and handlers could not carry unchanged. jsonb refuses NUL and lone surrogates by itself.
create function deadman.check_payload(payload json) returns void language plpgsql immutable as $$
begin
    if octet_length(payload::text) > 1048576 then
        raise exception 'payload: at most 1048576 bytes' using errcode = 'invalid_parameter_value';
    end if;
    perform payload::text::jsonb;
end $$;

-- What domain::fingerprint makes of the same request, so that a key holds whichever way the second one comes: SHA-256 over the fields, each
-- with its length in bytes before it.
create function deadman.fingerprint(fields text[]) returns text language sql stable as $$
    select encode(sha256(convert_to(string_agg(octet_length(convert_to(f, 'UTF8')) || ':' || f, '' order by ord), 'UTF8')), 'hex')
    from unnest(fields) with ordinality u(f, ord)
$$;

create function deadman.enqueue(kind text, payload json default '{}', queue text default 'default', priority int default 5,
    run_at timestamptz default null, max_attempts int default 20, unique_key text default null, idempotency_key text default null,
    transactional bool default false, timeout interval default '5 min')
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
    timeout_us bigint;
    print text;
begin
    perform deadman.check_name('kind', kind), deadman.check_name('queue', queue), deadman.check_payload(payload);
    if not isfinite(run_at) or not isfinite(timeout) then
        raise exception 'run_at and timeout must be finite' using errcode = 'invalid_parameter_value';
    end if;
    timeout_us := (extract(epoch from timeout) * 1000000)::bigint;
    if priority not between 0 and 9 or max_attempts not between 1 and 32000 or timeout_us < 0 or length(unique_key) > 200
            or length(idempotency_key) > 200 or transactional is null or priority is null or max_attempts is null or timeout is null then
        raise exception 'priority must lie between 0 and 9, max_attempts between 1 and 32000, keys have at most 200 characters'
            using errcode = 'invalid_parameter_value';
    end if;
    print := deadman.fingerprint(array[kind, payload::text, queue, priority::text, coalesce(deadman.to_us(run_at)::text, ''), '',
        max_attempts::text, 'exponential:1s:1h:0.25', timeout_us::text, transactional::int::text, coalesce(unique_key, '')]);
    return (select b.id from deadman.enqueue_batch(array[kind], array[payload::text], array[queue], array[priority::smallint],
        array[case when run_at is not null then (extract(epoch from run_at) * 1000000)::bigint end], array[null::bigint], array[max_attempts::smallint],
        array[null::text], array[timeout_us], array[transactional], case when unique_key <> '' then array[unique_key] end,
        case when idempotency_key <> '' then array[idempotency_key] end, array[print], interval '24 hours') b);
end $$;
