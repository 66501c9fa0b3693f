-- In every table, times are integer milliseconds since 1970 and amounts integer nano-USD unless a name says
-- otherwise.

-- engine: postgres
-- Milliseconds since 1970, by which all nodes decide who is dead and what has expired. On SQLite every connection
-- defines it. It stands still during a statement, so that an index can be searched by it.
create function now_ms () returns bigint language sql stable parallel safe as $$
  select cast(floor(extract(epoch from statement_timestamp()) * 1000) as bigint)
$$;

-- engine: all
-- An account's available money is credits − spent − held. A budget is what a key may spend, in one period or
-- in total: its credits are that limit, not money, and are set without an entry, while the ledger counts
-- `spent` and `held` as for every account of a request's chain.
create table account (
  id text primary key,
  parent text null references account (id),
  name text not null,
  currency text not null,
  credits bigint not null default 0,
  spent bigint not null default 0 check (spent >= 0),
  held bigint not null default 0 check (held >= 0),
  created_at bigint not null,
  kind text not null default 'account' check (kind in ('account', 'budget')),
  -- Limits; null: none.
  requests_per_minute bigint null check (requests_per_minute > 0),
  tokens_per_minute bigint null check (tokens_per_minute > 0),
  concurrent_requests bigint null check (concurrent_requests > 0),
  -- A frozen account makes no requests; a closed one is history.
  frozen_at bigint null,
  closed_at bigint null
);
create index account_parent on account (parent) where parent is not null;

create table api_key (
  id text primary key,
  secret_sha256 text not null,
  account text not null references account (id),
  label text not null,
  created_at bigint not null,
  expires_at bigint null,
  revoked_at bigint null,
  last_used_at bigint null,
  -- Every role but `user` is of an admin key, which manages the gateway and pays for nothing.
  role text not null default 'user' check (role in ('user', 'owner', 'operator', 'finance', 'viewer')),
  -- A JSON list of globs; null allows every model.
  models text null,
  budget_nano bigint null check (budget_nano >= 0),
  -- Null: one budget for all time.
  budget_period text null check (budget_period in ('day', 'week', 'month')),
  -- The secret before the last rotation, and until when it is accepted.
  previous_sha256 text null,
  previous_until bigint null,
  requests_per_minute bigint null check (requests_per_minute > 0),
  tokens_per_minute bigint null check (tokens_per_minute > 0),
  concurrent_requests bigint null check (concurrent_requests > 0)
);
create index api_key_account on api_key (account);
create index api_key_created on api_key (created_at);
