-- Times are integer milliseconds since 1970, amounts integer nano-USD.

-- A budget is an account whose credits are its limit; a request then holds money on every account of its chain.
create table account (
  id text primary key,
  parent text null references account (id),
  name text not null,
  currency text not null,
  credits bigint not null default 0,
  spent bigint not null default 0 check (spent >= 0),
  held bigint not null default 0 check (held >= 0),
  created_at bigint not null
);

create table api_key (
  id text primary key,
  secret_sha256 text not null,
  account text not null references account (id),
  label text not null,
  created_at bigint not null,
  expires_at bigint null,
  revoked_at bigint null,
  last_used_at bigint null
);
create index api_key_account on api_key (account);

-- Double entry: every row moves one amount from `debit` to `credit`. The gateway's own side of the books (funding,
-- revenue, suspense) has no account row, which every request would have to lock: its balance is a sum over entries.
create table entry (
  -- engine: sqlite
  seq integer primary key autoincrement,
  -- engine: postgres
  seq bigint generated always as identity primary key,
  -- engine: all
  id text not null unique,
  at bigint not null,
  debit text not null,
  credit text not null,
  amount bigint not null check (amount > 0),
  kind text not null check (kind in ('deposit', 'usage', 'refund', 'adjust', 'suspense')),
  ref text null,
  model text null,
  usage text null,
  estimated integer not null default 0
);
create index entry_debit on entry (debit, at);
create index entry_credit on entry (credit, at);

-- engine: sqlite
create trigger entry_no_update before update on entry
begin
  select raise(abort, 'entry is append-only');
end;
create trigger entry_no_delete before delete on entry
begin
  select raise(abort, 'entry is append-only');
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
