-- Work that takes a provider minutes, and that outlives its client and its node: videos. A row is written
-- only when its state changes.
create table job (
  id text primary key,
  account text not null references account (id),
  api_key text not null,
  -- The ids of the accounts that are charged, the paying one first, separated by spaces.
  chain text not null,
  -- Public id of the model, and its candidates: a JSON list of {provider, model}; `candidate` is the index in
  -- use.
  model text not null,
  candidates text not null,
  candidate integer not null default 0,
  -- The client's idempotency key, and a hash of the request's semantic fields.
  dedupe text null,
  body_hash text not null,
  request text not null,
  base_url text not null,
  state text not null check (state in (
    'submitting', 'queued', 'running', 'storing', 'succeeded', 'failed', 'cancelled', 'expired')),
  -- The node that runs it. `fence` is its fencing token: every update names both, so a former owner changes
  -- nothing.
  owner text null,
  fence bigint not null default 0,
  -- The provider's id of the job.
  handle text null,
  progress integer null,
  attempts integer not null default 0,
  deadline_at bigint not null,
  -- The hold that pays for it; null when it is free. Prices are those at submission.
  hold text null,
  amount bigint not null default 0,
  second_price bigint not null default 0,
  seconds double precision not null,
  cost bigint null,
  -- Since when no client on any node waits for it; null while one does, see `waiter`.
  waiter_left_at bigint null,
  delivered integer not null default 0,
  -- 1: by an operator, 2: because no client waits. No request joins it any more.
  cancel integer not null default 0,
  result text null,
  error text null,
  -- Why its video is not copied yet, while it is `storing`: a JSON object.
  copy_error text null,
  created_at bigint not null,
  submitted_at bigint null,
  finished_at bigint null,
  -- Until when a repeated request gets the result of a finished job.
  expires_at bigint null,
  check ((finished_at is null) = (state in ('submitting', 'queued', 'running', 'storing')))
);
create unique index job_dedupe on job (api_key, dedupe) where dedupe is not null;
create index job_body on job (api_key, body_hash, created_at);
create index job_created on job (created_at, id);
create index job_account on job (account, created_at, id);
create index job_live on job (owner) where finished_at is null;
create index job_finished on job (finished_at) where finished_at is not null;

-- A generation of images, which is made by the node that received its request, and kept until it is delivered.
create table generation (
  id text primary key,
  api_key text not null,
  -- The client's idempotency key, and a hash of the request.
  dedupe text null,
  body_hash text not null,
  state text not null check (state in ('running', 'succeeded', 'failed')),
  owner text not null,
  delivered integer not null default 0,
  result text null,
  error text null,
  created_at bigint not null,
  -- Until when a repeated request gets the result.
  expires_at bigint null
);
create unique index generation_dedupe on generation (api_key, dedupe) where dedupe is not null;
create index generation_body on generation (api_key, body_hash, created_at);
create index generation_created on generation (created_at);

-- A client that waits on a node for a job or a generation. Rows of a dead node are deleted by the others.
create table waiter (
  id text primary key,
  work text not null,
  node text not null
);
create index waiter_work on waiter (work);
create index waiter_node on waiter (node);

-- An image or video made for an account. Its bytes are in a folder or an S3-compatible store under this id.
-- They are stored before the row is inserted; a sweep deletes bytes without a row.
create table media (
  -- Unguessable: 128 random bits.
  id text primary key,
  -- The video job that produced it.
  job text null,
  account text not null,
  mime text not null,
  extension text not null,
  bytes bigint not null check (bytes > 0),
  sha256 text not null,
  width integer null,
  height integer null,
  created_at bigint not null,
  expires_at bigint not null
);
create index media_expiry on media (expires_at);
create index media_job on media (job) where job is not null;
