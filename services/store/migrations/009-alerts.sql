-- What an account should not spend more than, in each period or in total, and the balance below which it is low:
-- operators are told, and no request is refused. Null: none, or for the low balance that of the configuration.
alter table account add column soft_budget bigint null check (soft_budget > 0);
alter table account add column soft_budget_period text null check (soft_budget_period in ('day', 'week', 'month'));
alter table account add column low_balance bigint null check (low_balance >= 0);
-- Since when its balance has been low; null while it is not.
alter table account add column low_since bigint null;
create index account_soft_budget on account (id) where soft_budget is not null;

-- What an account had spent when a period of its soft budget began.
create table period_start (
  account text not null references account (id),
  period text not null,
  spent bigint not null,
  primary key (account, period)
);

-- A message to the operator's webhook. It is sent until it is delivered or has failed too often.
create table alert (
  id text primary key,
  -- A budget account, `account:<id>` or `low:<id>`: each threshold is reported once for each of its periods, and
  -- again for another limit, which `period` has too.
  source text not null,
  period text not null,
  -- Percent of a budget; 0 for a low balance.
  threshold integer not null,
  created_at bigint not null,
  type text not null,
  body text not null,
  attempts integer not null default 0,
  -- Null: it was delivered, or given up.
  next_attempt_at bigint null,
  delivered_at bigint null,
  last_error text null,
  unique (source, period, threshold)
);
create index alert_due on alert (next_attempt_at) where next_attempt_at is not null;
create index alert_created on alert (created_at, id);
