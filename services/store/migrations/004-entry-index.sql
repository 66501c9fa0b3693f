-- Every usage entry credits `revenue`, so an index on it finds nothing and costs each request a row. Only what goes
-- the other way is looked up by the account it credits.
drop index entry_credit;
create index entry_credit on entry (credit, at) where kind <> 'usage';
