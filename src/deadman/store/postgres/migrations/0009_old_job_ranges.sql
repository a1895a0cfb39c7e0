-- Ranges of ids that nearly nothing lives in any more (PROTOCOL H1). What still does moves to `job_kept`, and the partition goes.
-- A range is over once no open transaction can bring a job of it any more. From then on the jobs that are in use only become fewer, since
-- a job that has been forgotten never comes back: so a copy of those in use is complete, whatever happens until the partition is gone.

-- The ticket up to which nothing can appear any more.
create function deadman.closed_ticket() returns bigint language sql volatile as $$
    select coalesce(max(ticket), 0) from deadman.horizon where xid <= pg_snapshot_xmin(pg_current_snapshot())
$$;

-- Jobs of the range that wait, run, or have finished and are not forgotten. One statement: none is missed while it moves.
create function deadman.jobs_in_use(low bigint, high bigint) returns setof bigint language sql stable as $$
    select r.id from deadman.queue q cross join generate_series(0, 9) p
        join deadman.ready r on r.queue = q.id and r.priority = p and r.lane = 1 and r.ticket >= low and r.ticket < high and r.ticket = r.id
    union all
    select r.id from deadman.ready r where r.id >= low and r.id < high and r.ticket <> r.id
    union all
    select l.id from deadman.later l where l.id >= low and l.id < high
    union all
    select u.id from deadman.lease l cross join lateral unnest(l.ids) u(id) where u.id >= low and u.id < high
    union all
    select d.id from deadman.done d where d.id >= low and d.id < high
$$;

-- Copies what is in use, and says whether the partition may go: not where more than `most` would have to be copied.
create function deadman.keep_jobs(low bigint, high bigint, most int) returns bool language plpgsql as $$
begin
    if deadman.closed_ticket() < high - 1 or (select count(*) from (select from deadman.jobs_in_use(low, high) limit most + 1) u) > most then
        return false;
    end if;
    insert into deadman.job_kept select j.* from deadman.job j
        where j.id >= low and j.id < high and j.id = any (array(select deadman.jobs_in_use(low, high)))
        on conflict do nothing;
    return true;
end $$;

-- Forgets up to `most` kept jobs after an id that are in use no more: their ends went with whole partitions of `done`. Gives the last id that
-- it looked at, 0 at the end.
create function deadman.forget_kept(after bigint, most int) returns bigint language plpgsql as $$
declare
    looked bigint[] := array(select id from deadman.job_kept where id > after order by id limit most);
begin
    delete from deadman.job_kept k where k.id = any (looked)
        and not exists (select from deadman.ready r where r.queue = k.queue and r.priority = k.priority and r.lane = 1 and r.ticket = k.id)
        and not exists (select from deadman.ready r where r.id = k.id and r.ticket <> r.id)
        and not exists (select from deadman.later l where l.id = k.id)
        and not exists (select from deadman.done d where d.id = k.id)
        and k.id <> all (array(select unnest(ids) from deadman.lease));
    return coalesce(looked[cardinality(looked)], 0);
end $$;

-- What is being given up and how far it is.
create function deadman.partitions_leaving() returns table(name text, parent text, step text) language sql stable as $$
    select l.name, l.parent, case when c.oid is null then 'gone' when i.inhrelid is null then 'detached'
        when i.inhdetachpending then 'detaching' else 'attached' end
    from deadman.leaving l left join pg_class c on c.oid = to_regclass('deadman.' || quote_ident(l.name))
        left join pg_inherits i on i.inhrelid = c.oid
    order by l.name
$$;
