-- What requests add to the books costs less, and takes less room: an entry needs no id, and no place in an index of ids,
-- where nothing but its own settlement could book it a second time. A node numbers such settlements, and the transaction
-- that books them notes in the node's hold on each account how far it has come.
alter table hold add column booked bigint not null default 0;

-- engine: postgres
alter table entry alter column id drop not null;
alter table entry add constraint entry_id_check check (id is not null or kind = 'usage');
-- Nothing but the check of the books asks for the entries of an account that are no usage, and that reads them all.
drop index entry_debit;
drop index entry_credit;
-- engine: sqlite
create table new_entry (
  seq integer primary key,
  id text null,
  at bigint not null,
  debit text not null,
  credit text not null,
  amount bigint not null check (amount > 0),
  kind text not null
    check (kind = 'usage' or kind = 'deposit' or kind = 'refund' or kind = 'adjust' or kind = 'suspense'),
  ref text null,
  model text null,
  usage text null,
  estimated integer not null default 0,
  hold text null,
  api_key text null,
  chain text null,
  reverses text null,
  reason text null,
  check (kind = 'usage' or id is not null)
);
insert into new_entry
  (seq, id, at, debit, credit, amount, kind, ref, model, usage, estimated, hold, api_key, chain, reverses, reason)
select seq, id, at, debit, credit, amount, kind, ref, model, usage, estimated, hold, api_key, chain, reverses, reason
from entry order by seq;
drop table entry;
alter table new_entry rename to entry;
create unique index entry_id on entry (id) where id is not null;
create unique index entry_hold on entry (hold) where hold is not null and kind = 'usage';
create index entry_reverses on entry (reverses) where reverses is not null;
create trigger entry_no_update before update on entry
begin
  select raise(abort, 'entry is append-only');
end;
create trigger entry_no_delete before delete on entry
begin
  select raise(abort, 'entry is append-only');
end;
