-- An image or video that was made for an account. Its bytes are in a folder or an S3-compatible store, named by the
-- id; they are there before the row is, and what has no row is removed by and by.
create table media (
  -- Unguessable: 128 random bits.
  id text primary key,
  -- The video job it comes from.
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

-- What all nodes must share and nobody has to choose, such as the key that signs addresses of media.
create table secret (
  name text primary key,
  value text not null,
  created_at bigint not null
);

-- When a chore that one node does for all was begun last.
create table chore (
  name text primary key,
  begun_at bigint not null
);
