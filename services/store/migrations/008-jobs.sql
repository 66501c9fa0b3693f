-- Work that a provider does for minutes, and that outlives its client and its node: videos. A row is written when its
-- state changes and at no other time. Times are integer milliseconds since 1970, amounts integer nano-USD.
create table job (
  id text primary key,
  account text not null references account (id),
  api_key text not null,
  -- The accounts that pay, the first one first, separated by spaces.
  chain text not null,
  -- Public id of the model, and where it may be made: a JSON list of {provider, model}, of which one is at work.
  model text not null,
  candidates text not null,
  candidate integer not null default 0,
  -- What a client calls this request, and a hash of all that makes it up.
  dedupe text null,
  body_hash text not null,
  request text not null,
  base_url text not null,
  state text not null check (state in (
    'submitting', 'queued', 'running', 'storing', 'succeeded', 'failed', 'cancelled', 'expired')),
  -- The node that works on it; every change names owner and fence, so that one who lost it changes nothing.
  owner text null,
  fence bigint not null default 0,
  -- What the provider knows it by.
  handle text null,
  progress integer null,
  attempts integer not null default 0,
  deadline_at bigint not null,
  -- Money set aside for it; null when it is free. The price is that of the moment of admission.
  hold text null,
  amount bigint not null default 0,
  second_price bigint not null default 0,
  seconds double precision not null,
  cost bigint null,
  -- The node on which a client waits for it, and since when none does.
  waiter text null,
  waiter_left_at bigint null,
  delivered integer not null default 0,
  cancel integer not null default 0,
  result text null,
  error text null,
  created_at bigint not null,
  submitted_at bigint null,
  finished_at bigint null,
  -- Until when a finished job answers requests that ask for it again.
  expires_at bigint null,
  check ((finished_at is null) = (state in ('submitting', 'queued', 'running', 'storing')))
);
create unique index job_dedupe on job (account, dedupe) where dedupe is not null;
create index job_body on job (account, body_hash, created_at);
create index job_created on job (created_at, id);
create index job_account on job (account, created_at, id);
create index job_live on job (owner) where finished_at is null;
create index job_finished on job (finished_at) where finished_at is not null;
