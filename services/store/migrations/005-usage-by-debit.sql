-- Usage of a period is found by the accounts it was charged to, which `entry_debit` lists with its times; an index on
-- the time alone costs every request a row. Postgres keeps one that has a row per block of the table.
drop index entry_at;
-- engine: postgres
create index entry_at on entry using brin (at);
