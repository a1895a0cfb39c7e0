-- Where a job is. One statement, hence one observation: the job is in exactly one place. Who acts on it locks there and, if the job has moved
-- by then, looks again.
create function deadman.locate(p_id bigint)
returns table(place text, queue int, priority smallint, lane smallint, ticket bigint, fence bigint, ord int, state smallint)
language sql stable as $$
    select 'ready', r.queue, r.priority, r.lane, r.ticket, null::bigint, null::int, null::smallint
        from deadman.spec_of(p_id) j join deadman.ready r on r.queue = j.queue and r.priority = j.priority and r.lane = 1 and r.ticket = j.id
    union all
    select 'ready', queue, priority, lane, ticket, null, null, null from deadman.ready where id = p_id and ticket <> id
    union all
    select 'later', queue, priority, lane, null, null, null, null from deadman.later where id = p_id
    union all
    select 'lease', queue, priority, null, null, fence, array_position(ids, p_id), null from deadman.lease
        where p_id = any (ids) and get_bit(ended, array_position(ids, p_id) - 1) = 0
    union all
    select 'done', null, null, null, null, fence, null, state from deadman.done where id = p_id and not retried
$$;

-- A fresh fence for the end of what was not running: of a job's ends the last has the highest.
create function deadman.record_cancel(p_id bigint, attempt smallint, lapses smallint, crashes smallint, snoozes int, flags smallint)
returns void language plpgsql as $$
begin
    insert into deadman.done(id, fence, finished_at, state, attempt, lapses, crashes, snoozes, reason)
        values (p_id, nextval('deadman.fence'), deadman.now(), 3, attempt, nullif(lapses, 0), nullif(crashes, 0), nullif(snoozes, 0), 'cancelled');
    if flags & 2 = 2 then
        perform deadman.free_unique_keys(array[p_id]);
    end if;
end $$;

-- Bounded: a transaction may hold the run's lease for long, and then nothing is accepted. The worker is asked to stop the run: its next
-- renewal tells it, the transaction is rolled back, and the run ends as cancelled, unless it had committed.
create function deadman.cancel(p_id bigint) returns text language plpgsql set lock_timeout = '500ms' set plan_cache_mode = force_generic_plan as $$
declare
    at record;
    was record;
begin
    for try in 1..20 loop
        select * into at from deadman.locate(p_id);
        if not found then
            return 'not_found';
        elsif at.place = 'done' then
            return 'already_finished';
        elsif at.place = 'lease' then
            update deadman.lease set cancel = set_bit(cancel, at.ord - 1, 1)
                where fence = at.fence and get_bit(ended, at.ord - 1) = 0;
            if found then
                return 'requested';
            end if;
        else
            if at.place = 'ready' then
                delete from deadman.ready r where r.queue = at.queue and r.priority = at.priority and r.lane = at.lane
                    and r.ticket = at.ticket and r.id = p_id returning r.* into was;
            else
                delete from deadman.later where id = p_id returning * into was;
            end if;
            if found then
                perform deadman.record_cancel(p_id, was.attempt, was.lapses, was.crashes, was.snoozes, was.flags);
                return 'cancelled';
            end if;
        end if;
    end loop;
    return 'unknown';
exception when lock_not_available or deadlock_detected then
    begin
        update deadman.session set asked = array_append(asked, p_id)
            where id = (select l.session from deadman.lease l where l.fence = at.fence) and state = 0 and p_id <> all (asked);
    exception when lock_not_available or deadlock_detected then
        null;  -- nobody was asked: the caller may try again
    end;
    return 'unknown';
end $$;

-- The mark on the done row decides between two retries: who sets it, inserts. A lock alone would not: at REPEATABLE READ the second would
-- go on by its old snapshot.
create function deadman.retry(p_id bigint) returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    spec record;
    at record;
    new_ticket bigint;
begin
    select id, queue, priority, transactional, unique_key into spec from deadman.spec_of(p_id);
    if not found then
        raise exception 'no such job' using errcode = 'DM404';
    end if;
    perform deadman.begin_writing();
    update deadman.done set retried = true where id = p_id and state <> 1 and not retried;
    if not found then
        select * into at from deadman.locate(p_id);
        if not found then
            raise exception 'no such job' using errcode = 'DM404';
        end if;
        raise exception 'the job is not failed, cancelled or expired' using errcode = 'DM004';
    end if;
    if spec.unique_key is not null then
        insert into deadman.unique_key(key, job) values (spec.unique_key, p_id) on conflict do nothing;
        if not found then
            raise exception 'another job holds its unique key' using errcode = 'DM004';
        end if;
    end if;
    new_ticket := nextval('deadman.ticket');
    insert into deadman.ready(queue, priority, lane, ticket, id, due, flags)
        values (spec.queue, spec.priority, 0, new_ticket, p_id, deadman.now(),
            spec.transactional::int + 2 * (spec.unique_key is not null)::int);
    perform deadman.wake(spec.queue, new_ticket);
end $$;

create function deadman.remove(p_id bigint) returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    perform from deadman.spec_of(p_id);
    if not found then
        raise exception 'no such job' using errcode = 'DM404';
    end if;
    delete from deadman.done where id = p_id and not retried;
    if not found then
        perform from deadman.locate(p_id);
        if not found then
            raise exception 'no such job' using errcode = 'DM404';
        end if;
        raise exception 'the job has not finished' using errcode = 'DM004';
    end if;
    delete from deadman.done where id = p_id;
    delete from deadman.run where id = p_id;
    delete from deadman.progress where job = p_id;
    delete from deadman.job where id = p_id;
    delete from deadman.job_kept where id = p_id;
end $$;

create function deadman.set_paused(queue_name text, stopped bool) returns void language plpgsql as $$
declare
    number int := deadman.queue_id(queue_name);  -- before the statement that must see a new row
begin
    update deadman.queue set paused = stopped where id = number;
    if not stopped then
        perform deadman.wake(number, 0);
    end if;
end $$;
