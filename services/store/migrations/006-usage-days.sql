-- Usage per day, so that a report need not read every entry. Exactly the entries up to `usage_progress.seq`
-- are in it: both tables change in one transaction. Both can be emptied; the rows are then made again.
create table usage_day (
  -- Since 1970, in UTC.
  day integer not null,
  account text not null,
  chain text not null,
  api_key text not null,
  model text not null,
  provider text not null,
  estimated integer not null,
  -- A JSON object, its names in alphabetical order.
  tags text not null,
  requests bigint not null,
  prompt bigint not null,
  completion bigint not null,
  cached bigint not null,
  reasoning bigint not null,
  images bigint not null,
  -- Of video.
  milliseconds bigint not null,
  -- Less what was refunded.
  amount bigint not null,
  -- Of the requests whose provider cost is known: how many, what it is, and what they were charged.
  costed_requests bigint not null,
  cost bigint not null,
  costed_amount bigint not null,
  -- Of the requests whose provider reported a cost: how many, what it is, and what was expected.
  reported_requests bigint not null,
  reported bigint not null,
  expected bigint not null,
  primary key (day, account, chain, api_key, model, provider, estimated, tags)
-- engine: sqlite
) without rowid;
-- engine: postgres
);
-- engine: all
create index usage_day_key on usage_day (api_key, day);
create index usage_day_chain on usage_day (chain, day);

-- One row, with the `seq` of the last entry in `usage_day`.
create table usage_progress (
  id integer primary key check (id = 1),
  seq bigint not null
);
insert into usage_progress (id, seq) values (1, 0);
