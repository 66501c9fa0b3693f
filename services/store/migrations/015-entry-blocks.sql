-- Entries of a period are found by blocks of entries: an index of times costs every request a row. Postgres has one
-- that keeps a row per block by itself.
-- engine: sqlite
drop index entry_at;
create table entry_block (
  first integer primary key,
  last bigint not null,
  earliest bigint not null,
  latest bigint not null
);
