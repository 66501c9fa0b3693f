-- Counts the changes of keys, and of what accounts decide about theirs, so that one row tells a node whether the keys
-- in its memory are still right. What each request or node writes (uses, locks, balances) does not count.
create table key_changes (
  id integer primary key check (id = 1),
  version bigint not null
);
insert into key_changes (id, version) values (1, 1);

-- engine: sqlite
create trigger api_key_change after update of secret_sha256, previous_sha256, previous_until, account, role, label,
  models, budget_nano, budget_period, expires_at, revoked_at, requests_per_minute, tokens_per_minute,
  concurrent_requests on api_key
begin
  update key_changes set version = version + 1;
end;
create trigger account_change after update of parent, frozen_at, closed_at, requests_per_minute, tokens_per_minute,
  concurrent_requests on account
begin
  update key_changes set version = version + 1;
end;

-- engine: postgres
create function count_key_change () returns trigger language plpgsql as $$
begin
  update key_changes set version = version + 1;
  return null;
end
$$;
-- Deferred to the commit, which takes no further locks: two transactions that change several keys cannot deadlock.
create constraint trigger api_key_change after update of secret_sha256, previous_sha256, previous_until, account, role,
  label, models, budget_nano, budget_period, expires_at, revoked_at, requests_per_minute, tokens_per_minute,
  concurrent_requests on api_key
  deferrable initially deferred for each row execute function count_key_change();
create constraint trigger account_change after update of parent, frozen_at, closed_at, requests_per_minute,
  tokens_per_minute, concurrent_requests on account
  deferrable initially deferred for each row execute function count_key_change();
