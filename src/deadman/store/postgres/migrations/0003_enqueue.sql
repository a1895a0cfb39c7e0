create function deadman.queue_id(queue_name text) returns int language plpgsql as $$
declare
    found_id int;
begin
    loop
        select id into found_id from deadman.queue where name = queue_name;
        exit when found;
        insert into deadman.queue(id, name) values (nextval('deadman.queue_number'), queue_name) on conflict do nothing;
    end loop;
    return found_id;
end $$;

-- NOTIFY takes a lock of the whole server at commit: only when somebody said that he waits.
-- The ticket lets the woken one start low enough.
create function deadman.wake(queue_number int, lowest_ticket bigint) returns void language plpgsql as $$
begin
    if exists (select from deadman.waiter w where w.until > clock_timestamp()
            and (select name from deadman.queue where id = queue_number) = any (w.queues)) then
        perform pg_notify('deadman_wake', queue_number || ' ' || lowest_ticket);
    end if;
end $$;

-- Durable even where the application commits asynchronously; and the transaction id exists before the first ticket is drawn, which the
-- sweep's horizon relies on.
create function deadman.begin_writing() returns void language plpgsql as $$
begin
    if current_setting('synchronous_commit') in ('off', 'local') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    perform pg_current_xact_id();
end $$;

-- Takes the idempotency keys of a batch, in key order. For each entry without a job yet: the job of an earlier request under its key.
create function deadman.take_idempotency_keys(ids bigint[], keys text[], prints text[], life interval)
returns table(ord int, job bigint) language plpgsql as $$
declare
    foreign_key text;
begin
    insert into deadman.idempotency as i (key, fingerprint, job, expires_at)
        select * from (select distinct on (u.key) u.key, u.print, u.id, deadman.now() + life
            from unnest(ids, keys, prints) with ordinality u(id, key, print, ord)
            where u.key is not null order by u.key, u.ord) k
        on conflict (key) do update set fingerprint = excluded.fingerprint, job = excluded.job, expires_at = excluded.expires_at
            where i.expires_at <= deadman.now();
    -- A new statement, so that it sees the row that a concurrent request has just committed.
    select u.key into foreign_key from unnest(keys, prints) u(key, print)
        join deadman.idempotency i on i.key = u.key where i.fingerprint <> u.print limit 1;
    if found then
        raise exception 'idempotency key "%" was used for another request', foreign_key using errcode = 'DM004';
    end if;
    return query select u.ord::int, i.job from unnest(ids, keys) with ordinality u(id, key, ord)
        join deadman.idempotency i on i.key = u.key where i.job <> u.id;
end $$;

-- Takes unique keys in key order; each then has a holder that is alive. A holder may end between two statements. Many keys: the holders'
-- rows are locked as they are met (an update that changes nothing), since a second round would take keys out of order and
-- deadlock. One key, perhaps in a long transaction of an application: not locked, or the holder could not end before that does; tried again.
create function deadman.take_unique_keys(ids bigint[], keys text[]) returns table(ord int, job bigint) language plpgsql as $$
begin
    if cardinality(keys) > 1 then
        insert into deadman.unique_key as t (key, job)
            select * from (select distinct on (u.key) u.key, u.id from unnest(ids, keys) with ordinality u(id, key, ord)
                where u.key is not null order by u.key, u.ord) k
            on conflict (key) do update set job = t.job where false;
    else
        loop
            insert into deadman.unique_key(key, job) select keys[1], ids[1] where keys[1] is not null on conflict do nothing;
            exit when keys[1] is null or exists (select from deadman.unique_key k where k.key = keys[1]);
        end loop;
    end if;
    -- Our own row first: at REPEATABLE READ a predecessor that ended since is still to be seen beside it.
    return query select u.ord::int, h.job from unnest(ids, keys) with ordinality u(id, key, ord)
        cross join lateral (select k.job from deadman.unique_key k where k.key = u.key order by k.job = any (ids) desc limit 1) h
        where h.job <> u.id;
end $$;

create function deadman.insert_jobs(ids bigint[], kinds text[], payloads text[], queues text[], priorities smallint[], dues bigint[],
    delays bigint[], attempts smallint[], retries text[], timeouts bigint[], transactionals bool[], unique_keys text[])
returns void language plpgsql as $$
declare
    moment timestamptz := deadman.now();
    queue record;
begin
    if exists (select from unnest(dues, delays) u(due, delay) where coalesce(deadman.from_us(u.due), moment + deadman.span(u.delay)) > deadman.latest_time()) then
        raise exception 'due: must not lie past the year 9999' using errcode = 'invalid_parameter_value';
    end if;
    perform deadman.queue_id(name) from (select distinct name from unnest(queues) name order by name) q;
    with spec as materialized (
        select u.id, u.kind, u.payload, q.id queue, u.priority, u.attempts, u.retry, u.timeout, u.transactional, u.unique_key,
            coalesce(deadman.from_us(u.due), moment + deadman.span(u.delay)) due,
            (u.transactional::int + 2 * (u.unique_key is not null)::int)::smallint flags
        from unnest(ids, kinds, payloads, queues, priorities, dues, delays, attempts, retries, timeouts, transactionals, unique_keys)
            u(id, kind, payload, queue, priority, due, delay, attempts, retry, timeout, transactional, unique_key)
            join deadman.queue q on q.name = u.queue
        where u.id is not null),
    into_job as (
        insert into deadman.job(id, queue, priority, max_attempts, timeout_us, created_at, due, transactional, kind, retry, unique_key, payload)
        select id, spec.queue, priority, spec.attempts, timeout, moment, due, transactional, kind, retry, unique_key, payload from spec),
    into_later as (
        insert into deadman.later(id, due, queue, priority, lane, flags)
        select id, due, spec.queue, priority, 1, flags from spec where due > moment)
    insert into deadman.ready(queue, priority, lane, ticket, id, due, flags)
        select spec.queue, priority, 1, id, id, coalesce(due, moment), flags from spec where due is null or due <= moment;
    if exists (select from deadman.waiter) then
        for queue in select q.id, min(u.id) lowest from unnest(ids, queues) u(id, name) join deadman.queue q using (name) group by q.id loop
            perform deadman.wake(queue.id, queue.lowest);
        end loop;
    end if;
end $$;

-- One answer per spec, in order. A taken key answers with the job that holds it.
create function deadman.enqueue_batch(kinds text[], payloads text[], queues text[], priorities smallint[], dues bigint[], delays bigint[],
    attempts smallint[], retries text[], timeouts bigint[], transactionals bool[], unique_keys text[], idempotency_keys text[],
    fingerprints text[], key_life interval)
returns table(id bigint, is_new bool, replayed bool) language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    drawn bigint[];
    answer bigint[];
    repeats bool[] := array_fill(false, array[cardinality(kinds)]);
    fresh bigint[];
    holder record;
begin
    perform deadman.begin_writing();
    select array_agg(nextval('deadman.ticket')) into drawn from generate_series(1, cardinality(kinds));
    answer := drawn;
    if idempotency_keys is not null then
        for holder in select * from deadman.take_idempotency_keys(drawn, idempotency_keys, fingerprints, key_life) loop
            answer[holder.ord] := holder.job;
            repeats[holder.ord] := true;
            unique_keys[holder.ord] := null;
        end loop;
    end if;
    if unique_keys is not null then
        for holder in select * from deadman.take_unique_keys(drawn, unique_keys) loop
            answer := array_replace(answer, drawn[holder.ord], holder.job);  -- also where an earlier entry is repeated
            if idempotency_keys[holder.ord] is not null then
                update deadman.idempotency i set job = holder.job
                    where i.key = idempotency_keys[holder.ord] and i.job = drawn[holder.ord];
            end if;
        end loop;
    end if;
    fresh := drawn;
    if answer <> drawn then
        select array_agg(case when u.a = u.d then u.d end order by u.ord) into fresh
            from unnest(answer, drawn) with ordinality u(a, d, ord);
    end if;
    perform deadman.insert_jobs(fresh, kinds, payloads, queues, priorities, dues, delays, attempts, retries, timeouts, transactionals, unique_keys);
    return query select u.a, u.a = u.d, u.r from unnest(answer, drawn, repeats) with ordinality u(a, d, r, ord) order by u.ord;
end $$;
