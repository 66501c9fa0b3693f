-- engine: sqlite
-- The tables that requests write to, with cheaper checks; what they hold stays the same. SQLite makes a table of its
-- own for a list of three or more values and looks the value up there, which took a sixth of the time of writing an
-- entry. Rows of `entry` are never deleted and those of `request_log` only when they are old, so without
-- `autoincrement`, which keeps a book of its own, `seq` grows all the same.
create table new_entry (
  seq integer primary key,
  id text not null unique,
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
  prompt_tokens integer generated always as (cast(json_extract(usage, '$.prompt') as integer)) virtual,
  completion_tokens integer generated always as (cast(json_extract(usage, '$.completion') as integer)) virtual
);
insert into new_entry
  (seq, id, at, debit, credit, amount, kind, ref, model, usage, estimated, hold, api_key, chain, reverses, reason)
select seq, id, at, debit, credit, amount, kind, ref, model, usage, estimated, hold, api_key, chain, reverses, reason
from entry order by seq;
drop table entry;
alter table new_entry rename to entry;
create index entry_debit on entry (debit, at);
create index entry_credit on entry (credit, at) where kind <> 'usage';
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

create table new_hold (
  id text not null,
  account text not null references account (id),
  kind text not null check (kind = 'node' or kind = 'request' or kind = 'job'),
  owner text not null,
  amount bigint not null check (amount >= 0),
  spare bigint not null default 0 check (spare >= 0 and spare <= amount),
  wanted integer not null default 0,
  state integer not null default 0 check (state between 0 and 3),
  settled bigint null,
  created_at bigint not null,
  expires_at bigint null,
  resolved_at bigint null,
  primary key (id, account),
  check ((state = 0) = (resolved_at is null)),
  check ((state = 1) = (settled is not null))
);
insert into new_hold
  (id, account, kind, owner, amount, spare, wanted, state, settled, created_at, expires_at, resolved_at)
select id, account, kind, owner, amount, spare, wanted, state, settled, created_at, expires_at, resolved_at from hold;
drop table hold;
alter table new_hold rename to hold;
create index hold_account on hold (account) where state = 0;
create index hold_owner on hold (owner) where state = 0;
create index hold_expiry on hold (expires_at) where state = 0 and expires_at is not null;

create table new_request_log (
  seq integer primary key,
  request text not null,
  at bigint not null,
  api_key text not null,
  account text not null,
  route text not null,
  model text not null,
  provider text not null,
  status integer not null,
  outcome integer not null check (outcome between 0 and 3),
  attempts integer not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cost_nano bigint not null,
  first_byte_ms integer null,
  total_ms integer not null,
  weight integer not null check (weight > 0),
  routed text null
);
insert into new_request_log
  (seq, request, at, api_key, account, route, model, provider, status, outcome, attempts, prompt_tokens,
  completion_tokens, cost_nano, first_byte_ms, total_ms, weight, routed)
select seq, request, at, api_key, account, route, model, provider, status, outcome, attempts, prompt_tokens,
  completion_tokens, cost_nano, first_byte_ms, total_ms, weight, routed
from request_log order by seq;
drop table request_log;
alter table new_request_log rename to request_log;
create index request_log_at on request_log (at);
