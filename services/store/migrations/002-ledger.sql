-- A process that grants money. Whoever gives a dead node's holds back raises its epoch, so that nothing the node
-- may still write is taken for its own.
create table node (
  id text primary key,
  epoch bigint not null,
  beat bigint not null
);

-- Money set aside: one row for each account of its chain, all under one id.
-- node: what a node may grant from memory; its amount follows the requests and its owner alone changes it.
-- request: too much to be granted from memory; ends with its node. job: outlives its node, until it expires.
create table hold (
  id text not null,
  account text not null references account (id),
  kind text not null check (kind in ('node', 'request', 'job')),
  owner text not null,
  amount bigint not null check (amount >= 0),
  -- The part of a node's hold that no request used when it was last written.
  spare bigint not null default 0 check (spare >= 0 and spare <= amount),
  -- Another node was short of money and asks for what is spare.
  wanted integer not null default 0,
  -- 0 open, 1 settled, 2 given back, 3 taken back from a dead owner or expired
  state integer not null default 0 check (state in (0, 1, 2, 3)),
  settled bigint null,
  created_at bigint not null,
  expires_at bigint null,
  resolved_at bigint null,
  primary key (id, account),
  check ((state = 0) = (resolved_at is null)),
  check ((state = 1) = (settled is not null))
);
create index hold_account on hold (account) where state = 0;
create index hold_owner on hold (owner) where state = 0;
create index hold_expiry on hold (expires_at) where state = 0 and expires_at is not null;

-- The accounts that one posting counts for. Requests share few chains, so an entry names its chain instead of
-- repeating the accounts, and what every account has spent can still be summed exactly.
create table chain (
  id text not null,
  account text not null references account (id),
  primary key (id, account)
);
create index chain_account on chain (account);

-- The durable hold an entry has settled; entries under a node's hold are many, and unique by their own id.
alter table entry add column hold text null;
alter table entry add column api_key text null;
alter table entry add column chain text null;
-- The usage entry that a refund takes back.
alter table entry add column reverses text null;
-- Why an operator has adjusted an account.
alter table entry add column reason text null;
create unique index entry_hold on entry (hold) where kind = 'usage' and hold is not null;
create index entry_reverses on entry (reverses) where reverses is not null;
