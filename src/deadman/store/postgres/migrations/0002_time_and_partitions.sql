-- Functions on the hot path carry `plan_cache_mode = force_generic_plan`: their arrays would otherwise be planned for anew at each call,
-- which costs ten times the execution.

-- The store's clock: the transaction's, moved by a setting that only tests use.
create function deadman.now() returns timestamptz language sql stable parallel safe as $$
    select now() + coalesce(nullif(current_setting('deadman.clock_offset', true), ''), '0')::interval
$$;

-- Exact both ways up to the year 9999: a double would lose microseconds. Stable, as what they call is declared: or they are not inlined,
-- and planned anew by each statement that uses them.
create function deadman.from_us(us bigint) returns timestamptz language sql stable strict parallel safe as $$
    select timestamptz 'epoch' + (us / 1000000) * interval '1 second' + (us % 1000000) * interval '1 microsecond'
$$;
create function deadman.to_us(t timestamptz) returns bigint language sql stable strict parallel safe as $$
    select (extract(epoch from t) * 1000000)::bigint
$$;
create function deadman.span(us bigint) returns interval language sql immutable strict parallel safe as $$
    select (us / 1000000) * interval '1 second' + (us % 1000000) * interval '1 microsecond'
$$;

create function deadman.latest_time() returns timestamptz language sql immutable parallel safe as $$
    select timestamptz '9999-12-31 23:59:59.999999+00'
$$;

-- A table made apart and attached takes a lock that inserts do not notice; made as a partition at once it would stop them.
create function deadman.attach_partition(parent text, name text, low text, high text) returns bool language plpgsql as $$
begin
    if to_regclass('deadman.' || name) is not null then
        return false;
    end if;
    execute format('create table deadman.%I (like deadman.%I including defaults including constraints)', name, parent);
    execute format('alter table deadman.%I attach partition deadman.%I for values from (%L) to (%L)', parent, name, low, high);
    return true;
end $$;

create function deadman.job_partition_width() returns bigint language sql immutable as 'select 10000000::bigint';

-- Days in UTC, whatever the connection's zone: two connections must not cut the days differently.
create function deadman.make_partitions(days int default 7) returns int language plpgsql as $$
declare
    made int := 0;
    day date := (deadman.now() at time zone 'UTC')::date;
    width bigint := deadman.job_partition_width();
    first_range bigint;
    last_ticket bigint;
    parent text;
begin
    perform pg_advisory_xact_lock(5917000002);
    for ahead in -1..days loop
        foreach parent in array array['done', 'run'] loop
            made := made + deadman.attach_partition(parent, parent || to_char(day + ahead, '"_"YYYYMMDD'),
                (day + ahead)::text || ' 00:00:00+00', (day + ahead + 1)::text || ' 00:00:00+00')::int;
        end loop;
    end loop;
    select last_value into last_ticket from deadman.ticket;
    first_range := last_ticket / width;
    for range in first_range..first_range + 2 loop
        made := made + deadman.attach_partition('job', 'job_' || range, (range * width)::text, ((range + 1) * width)::text)::int;
    end loop;
    return made;
end $$;

-- A job as it was enqueued. A copy in `job_kept` counts only once the partition is out of sight: until then both are there. A lateral call
-- of this is inlined: a look into one partition, and into `job_kept` for what is not there.
create function deadman.spec_of(p_id bigint) returns setof deadman.job language sql stable rows 1 as $$
    select * from (select * from deadman.job where id = p_id union all select * from deadman.job_kept where id = p_id) s limit 1
$$;

-- Bounds of the partitions that stand, for upkeep and for those who ask how far ahead they reach.
create function deadman.partitions(parent text) returns table(name text, low text, high text) language sql stable as $$
    select c.relname::text, b[1], b[2]
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
        cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([^'']*)''\) TO \(''([^'']*)''\)') b
    where i.inhparent = ('deadman.' || parent)::regclass and not i.inhdetachpending
$$;

-- Fences must not be handed out twice when a server takes over that had not heard of the last ones.
create function deadman.timeline() returns text language sql volatile as $$
    select left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)
$$;
insert into deadman.cluster(timeline) select deadman.timeline();

create function deadman.raise_fence() returns bool language plpgsql as $$
declare
    here text := deadman.timeline();
begin
    perform from deadman.cluster where timeline <> here for update;
    if not found then
        return false;
    end if;
    perform setval('deadman.fence', (select last_value from deadman.fence) + 4294967296);
    update deadman.cluster set timeline = here;
    return true;
end $$;

select deadman.make_partitions();
