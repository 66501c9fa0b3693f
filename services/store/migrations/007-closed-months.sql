-- A month of the books that is closed, for good: the entries up to `last_entry` that are dated before `ends_at`, and
-- in no earlier month, are in it. Entries that are booked later count in the month that is open then, whatever their
-- date.
create table closed_month (
  -- E.g. 2026-10, in UTC.
  month text primary key,
  ends_at bigint not null unique,
  last_entry bigint not null,
  closed_at bigint not null,
  -- As in `entry`.
  actor text not null,
  -- The `closing` of its sums: rows of another attempt to close it do not count.
  closing text not null
);

-- What an account has come to by the end of a closed month, from its beginning on: one signed sum per line of a
-- statement. Their sum is the closing balance.
create table closing_sum (
  closing text not null,
  account text not null references account (id),
  line text not null,
  amount bigint not null,
  primary key (closing, account, line)
);

-- engine: sqlite
create trigger closed_month_no_update before update on closed_month
begin
  select raise(abort, 'closed_month is append-only');
end;
create trigger closed_month_no_delete before delete on closed_month
begin
  select raise(abort, 'closed_month is append-only');
end;
create trigger closing_sum_no_update before update on closing_sum
begin
  select raise(abort, 'closing_sum is append-only');
end;
create trigger closing_sum_no_delete before delete on closing_sum
begin
  select raise(abort, 'closing_sum is append-only');
end;

-- engine: postgres
create trigger closed_month_no_change before update or delete on closed_month
  for each row execute function refuse_change();
create trigger closed_month_no_truncate before truncate on closed_month
  for each statement execute function refuse_change();
create trigger closing_sum_no_change before update or delete on closing_sum
  for each row execute function refuse_change();
create trigger closing_sum_no_truncate before truncate on closing_sum
  for each statement execute function refuse_change();
