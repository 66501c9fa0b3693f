-- Generated secrets that all nodes share, such as the key that signs media URLs.
create table secret (
  name text primary key,
  value text not null,
  created_at bigint not null
);

-- When a periodic task that one node does for all was last started.
create table chore (
  name text primary key,
  begun_at bigint not null
);

-- What nodes have taken of a limit in the current minute and in the one before. A node takes an allowance and
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

-- How many concurrent requests a node may run for a scope. A dead node's slots are free again once they
-- expire.
create table slot_lease (
  scope text not null,
  node text not null,
  slots bigint not null check (slots > 0),
  expires_at bigint not null,
  primary key (scope, node)
);
create index slot_lease_expiry on slot_lease (expires_at);

-- What each node has measured of each deployment; read and written every few seconds, never per request.
-- `count` is the total number of calls the node has measured, `sums` the JSON described in
-- services/models/deployments/sums.ts, as of `at`.
create table deployment_statistics (
  node text not null,
  provider text not null,
  model text not null,
  at bigint not null,
  count bigint not null,
  sums text not null,
  primary key (node, provider, model)
);
create index deployment_statistics_at on deployment_statistics (at);

-- Scores from 0 to 1 that clients gave to answers of routed requests. `expected` is what the router had
-- predicted, if still known; training needs it.
create table routing_feedback (
  request_id text not null,
  api_key text not null,
  score double precision not null check (score >= 0 and score <= 1),
  model text null,
  domain text null,
  expected double precision null,
  created_at bigint not null,
  primary key (request_id, api_key)
);
create index routing_feedback_created on routing_feedback (created_at);

-- What `tollgate route train --apply` has learned from feedback: log-odds to add to the prediction for a
-- model in a domain. All rows are written at once and share one time.
create table routing_offset (
  model text not null,
  domain text not null,
  log_odds double precision not null,
  scores integer not null,
  trained_at bigint not null,
  primary key (model, domain)
);

-- One row per request of a key, written in batches and pruned by age: what the ledger does not record, such
-- as how long a request took and why it failed. Never a prompt or an answer.
create table request_log (
  -- engine: sqlite
  seq integer primary key,
  -- engine: postgres
  seq bigint generated always as identity primary key,
  -- engine: all
  request text not null,
  at bigint not null,
  api_key text not null,
  account text not null,
  route text not null,
  -- The public model that ran, else empty: names made up by clients are not stored.
  model text not null,
  provider text not null,
  status integer not null,
  -- 0 succeeded, 1 client disconnected, 2 refused or failed, 3 broke off after the status was sent
  outcome integer not null check (outcome between 0 and 3),
  attempts integer not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cost_nano bigint not null,
  first_byte_ms integer null,
  total_ms integer not null,
  -- How many requests the row stands for, where requests are sampled.
  weight integer not null check (weight > 0),
  -- The `x-tollgate-route` header of a request whose model the gateway chose, so that any node can learn from
  -- its score.
  routed text null,
  -- What the client sent as the model, cut and redacted.
  asked text null,
  stream integer not null default 0,
  held_nano bigint null,
  -- The code of the error that the client got, and what the provider said about it, redacted.
  code text null,
  words text null,
  job text null,
  -- The calls of providers as JSON, see services/operations/observability/request-log/request-log.ts.
  calls text null
);
-- Clients may choose ids, so one may have several rows.
create index request_log_request on request_log (request);
-- engine: sqlite
create index request_log_at on request_log (at);
-- engine: postgres
create index request_log_at on request_log using brin (at);
