-- What each request adds to the books costs less.
-- engine: sqlite
-- SQLite works out all generated columns for every row it writes, whoever reads them. The tokens of an entry are taken
-- out of `usage` when they are asked for.
alter table entry drop column prompt_tokens;
alter table entry drop column completion_tokens;
-- engine: all
-- Usage is found by its time: an index of numbers is smaller than one that begins with accounts. Only entries of other
-- kinds are looked up by the account that they debit.
drop index entry_debit;
create index entry_debit on entry (debit, at) where kind <> 'usage';
-- engine: sqlite
create index entry_at on entry (at);
