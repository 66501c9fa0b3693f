-- What each chain was charged and refunded by day, so that a statement need not read every entry. Exactly the entries
-- up to `chain_progress.seq` are in it: both tables change in one transaction. Both can be emptied; the rows are then
-- made again.
create table chain_day (
  chain text not null,
  -- Since 1970, in UTC.
  day integer not null,
  usage bigint not null,
  refunds bigint not null,
  primary key (chain, day)
-- engine: sqlite
) without rowid;
-- engine: postgres
);
-- engine: all

-- One row, with the `seq` of the last entry in `chain_day`.
create table chain_progress (
  id integer primary key check (id = 1),
  seq bigint not null
);
insert into chain_progress (id, seq) values (1, 0);
