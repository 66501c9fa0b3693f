-- Every change that an operator makes, written in the transaction of the change.
create table audit (
  -- engine: sqlite
  seq integer primary key,
  -- engine: postgres
  seq bigint generated always as identity primary key,
  -- engine: all
  at bigint not null,
  -- As in `entry`.
  actor text not null,
  -- The label that the admin key had then.
  actor_label text null,
  action text not null,
  target text not null,
  -- JSON with the fields that were changed, never a secret. Null before something was created.
  facts_before text null,
  facts_after text null
);
create index audit_actor on audit (actor, seq);
create index audit_target on audit (target, seq);

-- engine: sqlite
create trigger audit_no_update before update on audit
begin
  select raise(abort, 'audit is append-only');
end;
create trigger audit_no_delete before delete on audit
begin
  select raise(abort, 'audit is append-only');
end;

-- engine: postgres
create trigger audit_no_change before update or delete on audit
  for each row execute function refuse_change();
create trigger audit_no_truncate before truncate on audit
  for each statement execute function refuse_change();
