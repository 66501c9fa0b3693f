import type { Test } from 'tap'
import pg from 'pg'
import { migrateDatabase } from '../services/store/open.ts'

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
 * `pristine.renew()` empties what was written and puts back the rows of the migrations. It refuses after a
 * change of tables, indexes, functions or the like, and if another session does not end within 100 ms.
 */
const renewal = `
  create schema pristine;
  create table pristine.changed ();
  do $$
    declare name text;
    begin
      for name in select relname from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0
      loop execute format('create table pristine.%I as table public.%I', 'rows_' || name, name);
      end loop;
    end
  $$;

  create function pristine.renew () returns boolean language plpgsql as $$
    declare written text; name text;
    begin
      if exists (select from pristine.changed) then return false; end if;
      for attempt in 1..11 loop
        exit when not exists (
          select from pg_stat_activity
          where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        );
        if attempt = 11 then return false; end if;
        perform pg_sleep(0.01), pg_stat_clear_snapshot();
      end loop;
      set local session_replication_role = replica; -- No trigger refuses this, or adds rows.
      select string_agg(oid::regclass::text, ', ') into written from pg_class
        where relnamespace = 'public'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0;
      execute 'truncate ' || written || ' cascade';
      perform setval(seqrelid, seqstart, false) from pg_sequence where pg_sequence_last_value(seqrelid) is not null;
      for name in select substr(relname, 6) from pg_class
        where relnamespace = 'pristine'::regnamespace and relname like 'rows\\_%'
      loop
        execute format('insert into public.%I overriding system value table pristine.%I', name, 'rows_' || name);
      end loop;
      return true;
    end
  $$;

  create function pristine.note_change () returns event_trigger language plpgsql as $$
    begin
      -- 'create table if not exists' comes here too; it may have changed nothing.
      if tg_event = 'sql_drop' or exists (select from pg_event_trigger_ddl_commands()) then
        insert into pristine.changed default values;
      end if;
    end
  $$;
  create event trigger note_change on ddl_command_end execute function pristine.note_change();
  create event trigger note_drop on sql_drop execute function pristine.note_change();
`
