-- A process that grants holds from memory. `epoch` is its fencing token: whoever releases a dead node's holds
-- raises it, so that anything the node still writes is rejected.
create table node (
  id text primary key,
  epoch bigint not null,
  heartbeat_at bigint not null,
  -- How long a request of the node may run: others keep its holds that long after it has fallen silent.
  request_ms bigint not null default 600000
);

-- Money set aside: one row per account of the chain, all under one id.
-- node: a node's allowance, from which it grants requests in memory; only its owner changes it.
-- request: too large to be granted from memory; ends with its node. job: outlives its node, until it expires.
create table hold (
  id text not null,
  account text not null references account (id),
  -- Lists are checked by `or` and `between`: SQLite builds a temporary table for an `in` of three or more
  -- values.
  kind text not null check (kind = 'node' or kind = 'request' or kind = 'job'),
  owner text not null,
  amount bigint not null check (amount >= 0),
  -- The part of a node's allowance that no request used when it was last written.
  spare bigint not null default 0 check (spare >= 0 and spare <= amount),
  -- Another node was short of money and asks for what is spare.
  spare_requested integer not null default 0,
  -- 0 open, 1 settled, 2 released, 3 revoked, because its owner died or it expired
  state integer not null default 0 check (state between 0 and 3),
  settled bigint null,
  created_at bigint not null,
  expires_at bigint null,
  resolved_at bigint null,
  -- The sequence number of the node's last settlement that is booked; see `entry`.
  booked_sequence bigint not null default 0,
  primary key (id, account),
  check ((state = 0) = (resolved_at is null)),
  check ((state = 1) = (settled is not null))
);
create index hold_account on hold (account) where state = 0;
create index hold_owner on hold (owner) where state = 0;
create index hold_expiry on hold (expires_at) where state = 0 and expires_at is not null;
-- The durable holds that ended since the last check.
create index hold_resolved on hold (resolved_at, id) where kind <> 'node' and resolved_at is not null;

-- The accounts an entry counts for. Requests share few chains, so an entry names its chain instead of
-- repeating the accounts, and what every account has spent can still be summed exactly.
create table chain (
  id text not null,
  account text not null references account (id),
  primary key (id, account)
);
create index chain_account on chain (account);

-- Double entry: every row moves one amount from `debit` to `credit`. The gateway's own side of the books
-- (funding, revenue, suspense) has no account row, which every request would have to lock: its balance is a
-- sum over entries. Every request writes a row here, so each index and generated column has to earn its cost.
create table entry (
  -- engine: sqlite
  seq integer primary key,
  -- engine: postgres
  seq bigint generated always as identity primary key,
  -- engine: all
  -- What makes a repeated posting a no-op: the id its caller chose, or `usage:<hold>`. Null only for usage
  -- settled from memory: such settlements have sequence numbers, and the transaction that books them records
  -- the last one in `hold.booked_sequence`.
  idempotency_key text null,
  at bigint not null,
  debit text not null,
  credit text not null,
  amount bigint not null check (amount > 0 or (amount = 0 and kind = 'usage')),
  -- Kinds are checked by `tollgate ledger check`: to change a check, SQLite would have to copy the table.
  kind text not null,
  ref text null,
  model text null,
  usage text null,
  estimated integer not null default 0,
  -- The durable hold that this entry has settled.
  hold text null,
  api_key text null,
  chain text null,
  -- The `seq` of the usage entry that a refund takes back, or of the entry in suspense that this one closes.
  reverses bigint null,
  -- Why an operator has booked it; for suspense a `SuspenseReason` of services/billing/ledger/types.ts.
  reason text null,
  -- Who booked the entry: `key:<id>` of an admin key, `cli:<user>`, `env` for the key of the environment, or
  -- `gateway`. Null for usage, which the gateway books.
  actor text null,
  provider text null,
  check (kind = 'usage' or idempotency_key is not null)
);
create unique index entry_idempotency on entry (idempotency_key) where idempotency_key is not null;
create unique index entry_hold on entry (hold) where kind = 'usage' and hold is not null;
create index entry_reverses on entry (reverses) where reverses is not null;
create index entry_suspense on entry (debit, seq) where kind = 'suspense';

-- By how much an entry of an operator changed the credits of an account. An account's money includes that of the
-- accounts below it, so an entry may change several, or only one when money stays within a line of accounts.
create table movement (
  -- The `seq` of the entry.
  entry bigint not null,
  account text not null references account (id),
  amount bigint not null check (amount <> 0),
  primary key (entry, account)
);
create index movement_account on movement (account, entry);

-- Entries of a period are found by the block they are in: an index of times would cost every request a row.
-- engine: postgres
create index entry_at on entry using brin (at);
-- engine: sqlite
create table entry_block (
  first integer primary key,
  last bigint not null,
  earliest bigint not null,
  latest bigint not null
);

-- engine: sqlite
create trigger entry_no_update before update on entry
begin
  select raise(abort, 'entry is append-only');
end;
create trigger entry_no_delete before delete on entry
begin
  select raise(abort, 'entry is append-only');
end;

create trigger movement_no_update before update on movement
begin
  select raise(abort, 'movement is append-only');
end;
create trigger movement_no_delete before delete on movement
begin
  select raise(abort, 'movement is append-only');
end;

-- engine: postgres
create function refuse_change () returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end
$$;
create trigger entry_no_change before update or delete on entry
  for each row execute function refuse_change();
create trigger entry_no_truncate before truncate on entry
  for each statement execute function refuse_change();
create trigger movement_no_change before update or delete on movement
  for each row execute function refuse_change();
create trigger movement_no_truncate before truncate on movement
  for each statement execute function refuse_change();

-- engine: all
-- How far the books were checked, in one row: all entries up to `seq`, by a check that began at `checked_at`.
create table verified_until (
  id integer primary key check (id = 1),
  seq bigint not null,
  checked_at bigint not null
);

-- What an account, or a budget, has spent and was credited by the entries up to `seq`, for the next check to go
-- on from: of an account's rows, the last one up to `verified_until.seq` counts.
create table verified_sum (
  account text not null,
  seq bigint not null,
  spent bigint not null,
  credits bigint not null,
  primary key (account, seq)
);

-- engine: postgres
-- Writes what a node has decided from rows that it read without locks, in one statement, so that a node that
-- hangs keeps nothing locked. Writes all of it and returns null, or nothing and returns why: `ended`, the term
-- of the node; `changed` and the accounts whose money is now less, or whose allowance is another, than what was
-- read; `locked` and the accounts that other transactions keep locked.
create function commit_ledger (
  given_node text, given_term text, given_epoch bigint, given_request_ms bigint,
  given_accounts json, given_chains json, given_entries json, given_ended json, given_holds json
) returns text language plpgsql set lock_timeout = '100ms' as $$
declare
  ids text;
begin
  -- Locks the row, so that the holds of the node are not released meanwhile.
  update node set heartbeat_at = now_ms(), request_ms = given_request_ms
  where id = given_node and epoch = given_epoch;
  if not found then
    return 'ended';
  end if;

  -- In the order of their ids, to avoid deadlocks. Those that are locked already wait with it, so not for long. `no key`: rows that only refer to an account can be inserted.
  select string_agg(id, ' ') filter (where not is_possible) into ids from (
    select account.id,
      coalesce(hold.amount, 0) = given.known_amount
      and coalesce(hold.booked_sequence, 0) = given.known_sequence
      and (given.spent + given.held <= 0
        or account.credits - account.spent - account.held >= given.spent + given.held) as is_possible
    from json_to_recordset(given_accounts)
      as given (id text, spent bigint, held bigint, known_amount bigint, known_sequence bigint)
    join account on account.id = given.id
    left join hold on hold.id = given_term and hold.account = given.id
    order by account.id for no key update of account
  ) as locked;
  if ids is not null then
    return 'changed ' || ids;
  end if;
  if given_ended is not null and exists (
    select 1 from json_to_recordset(given_ended) as given (id text, open bigint)
    where open <> (select count(*) from hold where hold.id = given.id and state = 0)
  ) then
    return 'changed';
  end if;
  if given_holds is not null and exists (
    select 1 from json_to_recordset(given_holds) as given (api_key text)
    where not exists (
      select 1 from api_key where api_key.id = given.api_key and revoked_at is null
      and (expires_at is null or expires_at > now_ms()))
  ) then
    return 'changed';
  end if;

  if given_chains is not null then
    insert into chain (id, account)
    select id, account from json_to_recordset(given_chains) as given (id text, account text)
    on conflict do nothing;
  end if;
  if given_entries is not null then
    insert into entry (idempotency_key, at, debit, credit, amount, kind, ref, model, provider, usage, estimated,
      hold, api_key, chain, reason)
    select idempotency_key, at, debit, credit, amount, kind, ref, model, provider, usage, estimated,
      hold, api_key, chain, reason
    from json_to_recordset(given_entries) as given (idempotency_key text, at bigint, debit text, credit text,
      amount bigint, kind text, ref text, model text, provider text, usage text, estimated integer, hold text,
      api_key text, chain text, reason text);
  end if;
  if given_ended is not null then
    update hold set state = given.state, settled = given.settled, resolved_at = now_ms()
    from json_to_recordset(given_ended) as given (id text, state integer, settled bigint)
    where hold.id = given.id and hold.state = 0;
  end if;
  if given_holds is not null then
    insert into hold (id, account, kind, owner, amount, created_at, expires_at)
    select id, account, 'job', given_node, amount, now_ms(), expires_at
    from json_to_recordset(given_holds) as given (id text, account text, amount bigint, expires_at bigint);
  end if;
  -- Another node may have requested what is spare since the row was read.
  insert into hold (id, account, kind, owner, amount, spare, booked_sequence, spare_requested, created_at)
  select given_term, id, 'node', given_node, amount, spare, booked_sequence, seen_request, now_ms()
  from json_to_recordset(given_accounts) as given (id text, amount bigint, spare bigint, booked_sequence bigint,
    seen_request integer)
  where amount is not null
  on conflict (id, account) do update set
    amount = excluded.amount, spare = excluded.spare, booked_sequence = excluded.booked_sequence,
    spare_requested = case when excluded.spare_requested = 1 then 0 else hold.spare_requested end;
  update account set spent = account.spent + given.spent, held = account.held + given.held
  from json_to_recordset(given_accounts) as given (id text, spent bigint, held bigint)
  where account.id = given.id and (given.spent <> 0 or given.held <> 0);
  return null;
exception when lock_not_available then
  with given as (
    select id from json_to_recordset(given_accounts) as given (id text)
    union select account from json_to_recordset(given_chains) as given (account text)
  ), free as materialized (
    select account.id from given join account on account.id = given.id for no key update of account skip locked
  )
  select string_agg(id, ' ') into ids from given where id not in (select id from free);
  return concat_ws(' ', 'locked', ids);
end
$$;

-- Ends what a node holds for requests, in the statement that raises its epoch, and returns what accounts have
-- back. Each statement of a function sees what was committed before it: no hold of the node's last commit is
-- missed.
create function release_holds (given_node text, given_state integer)
returns table (released_account text, released_amount bigint) language plpgsql as $$
begin
  perform 1 from account
  where id in (select account from hold where owner = given_node and kind <> 'job' and state = 0)
  order by id for no key update;
  return query with released as (
    update hold set state = given_state, resolved_at = now_ms(), spare = 0, spare_requested = 0
    where owner = given_node and kind <> 'job' and state = 0 returning hold.account, hold.amount
  ), sums as (
    select released.account, cast(sum(released.amount) as bigint) as amount from released group by 1
  ), changed as (
    update account set held = account.held - sums.amount from sums where account.id = sums.account
  )
  select sums.account, sums.amount from sums where sums.amount > 0 order by 1;
end
$$;
