import type { Test } from 'tap'
import pg from 'pg'
import { migrateDatabase } from '../../services/store/open.ts'

// To create the gateway's tables takes Postgres some 100 ms of processor time. So the databases of tests are
// copies of a template, and a test gets one that an earlier test of its process has left, made as new.

const template = 'tollgate_template'
/** An arbitrary key for the advisory lock of the processes that would make the template. */
const templateLock = 4_711_081_500
const log = { info () {}, warn () {}, error () {} }

/** Databases that ended tests have left, the oldest first. */
const left: string[] = []
let created = 0

/**
 * The address of a database with the tables and rows that the migrations make, on the server at `address`. It
 * is the test's own until the test ends.
 */
export async function migratedDatabase (t: Pick<Test, 'teardown'>, address: string): Promise<string> {
  const url = await findRenewed() ?? await copyTemplate(address)
  t.teardown(() => { left.push(url) })
  return url
}

async function findRenewed (): Promise<string | null> {
  for (let url = left.shift(); url !== undefined; url = left.shift()) {
    const [row] = await query<{ renewed: boolean }>(url, 'select pristine.renew() as renewed')
    if (row?.renewed === true) return url
  }
  return null
}

async function copyTemplate (address: string): Promise<string> {
  if (created === 0) await makeTemplate(address)
  const name = `test_${process.pid}_${++created}`
  await query(address, `create database ${name} template ${template} strategy file_copy`)
  return urlOf(address, name)
}

/** Makes the template unless another process has. */
async function makeTemplate (address: string): Promise<void> {
  const draft = `${template}_draft`
  const client = new pg.Client(address)
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [templateLock])
    const { rowCount } = await client.query('select from pg_database where datname = $1', [template])
    if (rowCount !== 0) return
    await client.query(`create database ${draft}`)
    await migrateDatabase(urlOf(address, draft), log)
    await query(urlOf(address, draft), renewal)
    await client.query(`alter database ${draft} rename to ${template}`)
  } finally {
    await client.end()
  }
}

/** Ends with `options`, to which tests append more of them. */
function urlOf (address: string, database: string): string {
  const url = new URL(address)
  url.pathname = database
  return `${url.href}?options=-c%20search_path%3Dpublic`
}

async function query<Row extends object> (url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

/**
 * `pristine.renew()` empties what was written, puts back the rows of the migrations, and undoes what tests do
 * to the structure: tables of their own, and triggers that they drop. It refuses after other changes of the
 * structure, and if another session does not end within 100 ms.
 */
const renewal = `
  create schema pristine;
  create table pristine.changed ();
  create table pristine.relation as
    select oid, relname, relkind = 'r' and pg_relation_size(oid) > 0 as has_rows from pg_class
    where relnamespace = 'public'::regnamespace;
  create table pristine.trigger as
    select pg_get_triggerdef(oid) as definition from pg_trigger where not tgisinternal;
  do $$
    declare name text;
    begin
      for name in select relname from pristine.relation where has_rows
      loop execute format('create table pristine.%I as table public.%I', 'rows_' || name, name);
      end loop;
    end
  $$;

  create function pristine.is_busy () returns boolean language plpgsql as $$
    begin
      for attempt in 0..10 loop
        if attempt > 0 then perform pg_sleep(0.01), pg_stat_clear_snapshot(); end if;
        if not exists (
          select from pg_stat_activity
          where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        ) then return false; end if;
      end loop;
      return true;
    end
  $$;

  create function pristine.renew () returns boolean language plpgsql as $$
    declare item text; size bigint;
    begin
      if exists (select from pristine.changed) or pristine.is_busy() then return false; end if;
      set local session_replication_role = replica; -- No trigger refuses this, or adds rows.
      for item in select oid::regclass from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r'
        and oid not in (select oid from pristine.relation)
      loop execute format('drop table %s', item);
      end loop;
      for item in select definition from pristine.trigger except select pg_get_triggerdef(oid) from pg_trigger
      loop execute item;
      end loop;
      for item, size in select oid::regclass, pg_relation_size(oid) from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0
      loop
        -- New files for a table and its indexes take longer than to delete some hundred rows.
        if size < 500000 then execute 'delete from ' || item; else execute 'truncate ' || item || ' cascade'; end if;
      end loop;
      perform setval(seqrelid, seqstart, false) from pg_sequence where pg_sequence_last_value(seqrelid) is not null;
      for item in select relname from pristine.relation where has_rows
      loop
        execute format('insert into public.%I overriding system value table pristine.%I', item, 'rows_' || item);
      end loop;
      return true;
    end
  $$;

  create function pristine.is_own (class oid, object oid) returns boolean language sql as $$
    select class = 'pg_class'::regclass and not exists (
      select from pristine.relation
      where oid in (object, (select indrelid from pg_index where indexrelid = object))
    )
  $$;
  create function pristine.note_command () returns event_trigger language plpgsql as $$
    begin
      insert into pristine.changed
        select from pg_event_trigger_ddl_commands() where not pristine.is_own(classid, objid);
    end
  $$;
  create function pristine.note_drop () returns event_trigger language plpgsql as $$
    begin
      insert into pristine.changed select from pg_event_trigger_dropped_objects()
        where original and object_type <> 'trigger' and not pristine.is_own(classid, objid);
    end
  $$;
  create event trigger note_command on ddl_command_end execute function pristine.note_command();
  create event trigger note_drop on sql_drop execute function pristine.note_drop();
`
