-- Outcomes as numbers: 1 succeeded, 2 failed, 3 cancelled, 10 error (the store decides between 11 and 2), 11 retry, 12 snooze,
-- 13 release, 14 lapse. Those below 10 are terminal and stand in `done`, the others in `run`.

-- How the run (job, fence) was ended by its session; null where it was not. What the reaper ended is not the session's.
create function deadman.ended_as(p_id bigint, p_fence bigint, p_session bigint) returns smallint language sql stable as $$
    select state from deadman.done where id = p_id and fence = p_fence and session = p_session and not lapsed
    union all
    select outcome from deadman.run where id = p_id and fence = p_fence and session = p_session and outcome <> 14
    limit 1
$$;

-- The keys of ended jobs, in key order: an enqueue takes them in that order too.
create function deadman.free_unique_keys(jobs bigint[]) returns void language plpgsql as $$
begin
    delete from deadman.unique_key where key = any (array(
        select k.key from deadman.unique_key k where k.job = any (jobs) order by k.key for update));
end $$;

-- Ends runs of one session. What decides (ended, cancel) lies in the lease rows that the first statement locks, so it is one statement.
-- Verdicts: ok, cancelled (an accepted cancel won), repeat (it had been ended by this session), busy (a transaction holds the lease of
-- its own), fenced.
create function deadman.complete_batch(p_session bigint, p_key uuid, p_fences bigint[], p_ids bigint[], p_outcomes smallint[],
    p_results text[], p_reasons text[], p_messages text[], p_delays bigint[])
returns table(verdict text) language plpgsql set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    moment timestamptz := deadman.now();
    verdicts text[];
    keyed bigint[];
    woken record;
    released bool;
begin
    perform deadman.begin_writing();
    with said as materialized (
        select * from unnest(p_fences, p_ids, p_outcomes, p_results, p_reasons, p_messages, p_delays) with ordinality
            u(fence, id, outcome, result, reason, message, delay, place)),
    named as materialized (select distinct on (fence, id) * from said order by fence, id, place),
    shared as materialized (
        select * from deadman.lease where fence = any (p_fences) and session = p_session and skey = p_key and not solo
        order by fence for update),
    solo as materialized (  -- a transaction of the application may hold one for long: the others do not wait for it
        select * from deadman.lease where fence = any (p_fences) and session = p_session and skey = p_key and solo
        order by fence for update skip locked),
    held as materialized (
        select x.fence, x.claimed_at, x.queue, x.priority, x.flags, u.id, u.attempt, u.lapses, u.crashes, u.snoozes, u.due, u.ord,
            n.outcome, n.result, n.reason, n.message, n.delay, n.id is not null is_named,
            get_bit(x.ended, u.ord::int - 1) = 1 had_ended, get_bit(x.cancel, u.ord::int - 1) = 1 is_cancelled
        from (select * from shared union all select * from solo) x
            cross join lateral unnest(x.ids, x.attempts, x.lapses, x.crashes, x.snoozes, x.dues)
                with ordinality u(id, attempt, lapses, crashes, snoozes, due, ord)
            left join named n on n.fence = x.fence and n.id = u.id),
    ends as materialized (
        select h.*,
            (case when is_cancelled then 3
                when outcome = 10 then case when attempt + 1 < (select j.max_attempts from deadman.spec_of(h.id) j) then 11 else 2 end
                else outcome end)::smallint final,
            (attempt + case when outcome in (1, 2, 10) then 1 else 0 end)::smallint spent
        from held h where is_named and not had_ended),
    bits as materialized (
        select fence, string_agg(case when had_ended or is_named then '1' else '0' end, '' order by ord)::varbit ended,
            bool_and(had_ended or is_named) is_over
        from held group by fence),
    dropped as (delete from deadman.lease l using bits b where l.fence = b.fence and b.is_over),
    advanced as (update deadman.lease l set ended = b.ended, seq = seq + 1 from bits b where l.fence = b.fence and not b.is_over),
    into_done as (
        insert into deadman.done(id, fence, session, claimed_at, finished_at, state, attempt, snoozes, result, reason, message)
        select id, fence, p_session, claimed_at, moment, final, spent, nullif(snoozes, 0), case when final = 1 then result end,
            coalesce(reason, case when final = 2 then 'error' end), message
        from ends where final < 10),
    into_run as (
        insert into deadman.run(id, fence, session, claimed_at, finished_at, outcome, attempt, reason, message)
        select id, fence, p_session, claimed_at, moment, final, spent, reason, message from ends where final > 10),
    into_later as (  -- the handler answered: nobody blames the job any more
        insert into deadman.later(id, due, queue, priority, lane, flags, attempt, snoozes)
        select id, least(moment + deadman.span(coalesce(delay, 0)), deadman.latest_time()), queue, priority, 0, flags, spent, snoozes + (final = 12)::int
        from ends where final in (11, 12)),
    into_ready as (
        insert into deadman.ready(queue, priority, lane, ticket, id, due, flags, attempt, lapses, crashes, snoozes)
        select queue, priority, case when lapses >= 6 then 2 else 0 end, nextval('deadman.ticket'), id, due, flags, attempt, lapses,
            crashes, snoozes
        from (select * from ends where final = 13 order by ord) e)
    select array_agg(case when h.id is null then null when h.had_ended or e.place <> s.place then 'repeat'
                when e.final = 3 and e.outcome <> 3 then 'cancelled' else 'ok' end order by s.place),
            array_agg(e.id) filter (where e.final < 10 and e.flags & 2 = 2), coalesce(bool_or(e.final = 13), false)
        into verdicts, keyed, released
        from said s left join held h on h.fence = s.fence and h.id = s.id
            left join (select e.*, n.place from ends e join named n on n.fence = e.fence and n.id = e.id) e on e.fence = s.fence and e.id = s.id;
    if keyed is not null then
        perform deadman.free_unique_keys(keyed);
    end if;
    if released and exists (select from deadman.waiter) then
        for woken in select r.queue, min(r.ticket) lowest from deadman.ready r where r.id = any (p_ids) and r.ticket <> r.id group by 1 loop
            perform deadman.wake(woken.queue, woken.lowest);
        end loop;
    end if;
    if array_position(verdicts, null) is null then
        return query select * from unnest(verdicts);
        return;
    end if;
    -- A new snapshot: our own earlier try may have been committed while we waited for its lock.
    return query select coalesce(u.verdict, case
            when exists (select from deadman.lease l where l.fence = u.fence and l.session = p_session and l.skey = p_key
                and u.id = any (l.ids)) then 'busy'
            when deadman.ended_as(u.id, u.fence, p_session) is not null then 'repeat' else 'fenced' end)
        from unnest(p_fences, p_ids, verdicts) with ordinality u(fence, id, verdict, place) order by u.place;
end $$;

-- The common case at a third of the cost: every job of one shared lease succeeded, without a result. ids ascending, as the lease has them.
-- Anything else (gone, cancelled, partly ended, keyed) changes nothing and answers false: then complete_batch decides.
create function deadman.complete_all(p_session bigint, p_key uuid, p_fence bigint, p_ids bigint[]) returns bool language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    moment timestamptz := deadman.now();
    ended int;
begin
    with x as (
        delete from deadman.lease where fence = p_fence and session = p_session and skey = p_key and not solo and flags & 2 = 0
            and ids = p_ids and bit_count(lease.ended) = 0 and bit_count(cancel) = 0
        returning fence, claimed_at, ids, attempts, snoozes),
    into_done as (
        insert into deadman.done(id, fence, session, claimed_at, finished_at, state, attempt, snoozes)
        select u.id, x.fence, p_session, x.claimed_at, moment, 1, u.attempt + 1, nullif(u.snoozed, 0)
        from x, unnest(x.ids, x.attempts, x.snoozes) u(id, attempt, snoozed))
    select count(*) into ended from x;
    return ended = 1;
end $$;

-- The key of one run, for whoever ends it from a transaction of his own. It opens that run alone; the session's key stays with the worker.
create function deadman.run_key(session_key uuid, job bigint, fence bigint) returns text language sql immutable as $$
    select encode(sha256(convert_to(session_key::text || ':' || job::text || ':' || fence::text, 'UTF8')), 'hex')
$$;

create function deadman.refuse_shared(job bigint) returns void language plpgsql as $$
begin
    raise exception 'job % was not enqueued as transactional: it shares its lease with others and cannot end in a transaction', job
        using errcode = 'DM002', hint = 'Enqueue it with transactional => true (command line: --transactional).';
end $$;

create function deadman.refuse_stranger(job bigint, fence bigint) returns void language plpgsql as $$
begin
    raise exception 'job % is no longer held by fence %, or the key is of another run', job, fence using errcode = 'DM001';
end $$;

-- Inside the application's transaction: holds the run until the transaction ends, so that nobody hands it on before. The limits are the
-- transaction's own: client_connection_check_interval lets the server notice a dead client during a long statement, where the two before
-- it say nothing, and statement_timeout bounds the statement of a client that was stopped.
create function deadman.guard(job bigint, fence bigint, run_key text) returns void language plpgsql
    security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
    held record;
    bound text;
    longest numeric;
    already numeric := extract(epoch from current_setting('statement_timeout')::interval) * 1000;
begin
    select l.solo, l.cancel, coalesce(s.lease, interval '8 s') lease into held
        from deadman.lease l left join deadman.session s on s.id = l.session
        where l.fence = guard.fence and deadman.run_key(l.skey, guard.job, guard.fence) = guard.run_key and guard.job = any (l.ids)
            and get_bit(l.ended, array_position(l.ids, guard.job) - 1) = 0
        for update of l;
    if not found then
        perform deadman.refuse_stranger(guard.job, guard.fence);
    elsif not held.solo then
        perform deadman.refuse_shared(guard.job);
    elsif get_bit(held.cancel, 0) = 1 then
        raise exception 'job % was cancelled', guard.job using errcode = 'DM003';
    end if;
    bound := (extract(epoch from held.lease) * 1000)::int::text;
    perform set_config('idle_in_transaction_session_timeout', bound, true), set_config('tcp_user_timeout', bound, true),
        set_config('client_connection_check_interval', bound, true);
    longest := (select least(ceil(j.timeout_us / 1000.0), 2147483647) from deadman.spec_of(guard.job) j where j.timeout_us > 0);
    if longest > 0 and (already = 0 or longest < already) then
        perform set_config('statement_timeout', longest::bigint::text, true);
    end if;
end $$;

-- Inside the application's transaction: the run ends as succeeded if and when the transaction commits.
create function deadman.complete(job bigint, fence bigint, run_key text, result json default null) returns void language plpgsql
    security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
    ended record;
    held record;
begin
    delete from deadman.lease l where l.fence = complete.fence and deadman.run_key(l.skey, complete.job, complete.fence) = complete.run_key
        and l.solo and l.ids[1] = complete.job and get_bit(l.cancel, 0) = 0 returning l.* into ended;
    if found then
        perform deadman.begin_writing();
        insert into deadman.done(id, fence, session, claimed_at, finished_at, state, attempt, snoozes, result)
            values (complete.job, complete.fence, ended.session, ended.claimed_at, deadman.now(), 1, ended.attempts[1] + 1,
                nullif(ended.snoozes[1], 0), complete.result::text);
        if ended.flags & 2 = 2 then
            perform deadman.free_unique_keys(array[complete.job]);
        end if;
        return;
    end if;
    select l.solo into held from deadman.lease l  -- only to name the error
        where l.fence = complete.fence and deadman.run_key(l.skey, complete.job, complete.fence) = complete.run_key
            and complete.job = any (l.ids);
    if not found then
        perform deadman.refuse_stranger(complete.job, complete.fence);
    elsif not held.solo then
        perform deadman.refuse_shared(complete.job);
    end if;
    raise exception 'job % was cancelled', complete.job using errcode = 'DM003';
end $$;

-- A run that wants to end inside a transaction and shares its lease: it goes back, once, as one that gets a lease of its own.
create function deadman.hand_back_as_transactional(p_session bigint, p_key uuid, p_fence bigint, p_id bigint) returns text language plpgsql as $$
declare
    answer text;
begin
    select c.verdict into answer from deadman.complete_batch(p_session, p_key, array[p_fence], array[p_id], array[13]::smallint[],
        array[null]::text[], array['transactional']::text[], array[null]::text[], array[null]::bigint[]) c;
    if answer = 'ok' then  -- the row that this very transaction put there: nobody else has seen it
        update deadman.ready set flags = flags | 1 where id = p_id and ticket <> id;
    end if;
    return answer;
end $$;
