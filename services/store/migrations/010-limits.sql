-- What a key or an account may do in a minute and at the same time; null: whatever it can pay for.
alter table api_key add column requests_per_minute bigint null check (requests_per_minute > 0);
alter table api_key add column tokens_per_minute bigint null check (tokens_per_minute > 0);
alter table api_key add column concurrent_requests bigint null check (concurrent_requests > 0);
alter table account add column requests_per_minute bigint null check (requests_per_minute > 0);
alter table account add column tokens_per_minute bigint null check (tokens_per_minute > 0);
alter table account add column concurrent_requests bigint null check (concurrent_requests > 0);

-- What nodes have taken of a limit in the minute that is counted now, and in the one before. A node takes a slice and
-- counts requests in memory, so that no request costs a query. Minutes are counted from 1970.
create table rate_window (
  scope text not null,
  kind text not null check (kind in ('requests', 'tokens', 'concurrent')),
  minute bigint not null,
  used bigint not null,
  previous bigint not null,
  primary key (scope, kind)
);
create index rate_window_minute on rate_window (minute);

-- How many requests a node may run at the same time for a scope. A node that is gone loses them when they expire.
create table slot_lease (
  scope text not null,
  node text not null,
  slots bigint not null check (slots > 0),
  expires_at bigint not null,
  primary key (scope, node)
);
create index slot_lease_expiry on slot_lease (expires_at);
