-- A budget is what a key may spend, in one period or in all. Its credits are that limit and no money: they are set
-- without an entry, while the ledger keeps `spent` and `held` as for every account of a request's chain.
alter table account add column kind text not null default 'account' check (kind in ('account', 'budget'));

-- An admin key manages the gateway and pays for nothing.
alter table api_key add column role text not null default 'user' check (role in ('user', 'admin'));
-- A JSON list of globs; null allows every model.
alter table api_key add column models text null;
alter table api_key add column budget_nano bigint null check (budget_nano >= 0);
-- Null: one budget for all time.
alter table api_key add column budget_period text null check (budget_period in ('day', 'week', 'month'));
-- The secret before the last rotation, and when it ends.
alter table api_key add column previous_sha256 text null;
alter table api_key add column previous_until bigint null;
create index api_key_created on api_key (created_at);

-- Tokens out of the counts that an entry keeps as JSON, so that they can be summed up.
-- engine: sqlite
alter table entry add column prompt_tokens integer
  generated always as (cast(json_extract(usage, '$.prompt') as integer)) virtual;
alter table entry add column completion_tokens integer
  generated always as (cast(json_extract(usage, '$.completion') as integer)) virtual;
-- engine: postgres
alter table entry add column prompt_tokens bigint
  generated always as (trunc((usage::json ->> 'prompt')::numeric)::bigint) stored;
alter table entry add column completion_tokens bigint
  generated always as (trunc((usage::json ->> 'completion')::numeric)::bigint) stored;
-- engine: all
create index entry_at on entry (at);
