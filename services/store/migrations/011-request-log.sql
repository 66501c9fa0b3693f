-- One row per request of a key, written in batches and pruned by age: what the books cannot tell, such as how long a
-- request took and why it failed. Never a prompt, never an answer. Times are milliseconds.
create table request_log (
  -- engine: sqlite
  seq integer primary key autoincrement,
  -- engine: postgres
  seq bigint generated always as identity primary key,
  -- engine: all
  request text not null,
  at bigint not null,
  api_key text not null,
  account text not null,
  route text not null,
  -- The public model that ran, else none: what a client made up is not kept.
  model text not null,
  provider text not null,
  status integer not null,
  -- 0 it ended well, 1 the client went away, 2 it was refused or failed, 3 it broke off after its status was sent
  outcome integer not null check (outcome in (0, 1, 2, 3)),
  attempts integer not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cost_nano bigint not null,
  first_byte_ms integer null,
  total_ms integer not null,
  -- How many requests it stands for, where only some are kept.
  weight integer not null check (weight > 0)
);
-- engine: sqlite
create index request_log_at on request_log (at);
-- engine: postgres
create index request_log_at on request_log using brin (at);
