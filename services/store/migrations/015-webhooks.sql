-- A server that is told how a job has ended, and the message to it. Until then it has neither type nor body nor
-- a time to be sent; the transaction that ends the job sets them.
create table webhook (
  -- The `webhook-id` of all attempts.
  id text primary key,
  job text not null,
  account text not null,
  url text not null,
  created_at bigint not null,
  type text null,
  body text null,
  attempts integer not null default 0,
  -- Null: its job has not ended, or it was delivered or given up.
  next_attempt_at bigint null,
  delivered_at bigint null,
  last_error text null,
  unique (job, url)
);
create index webhook_due on webhook (next_attempt_at) where next_attempt_at is not null;
