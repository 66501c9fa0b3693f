-- The bytes of the responses that each account has stored. Kept by the database, so that they are also right for rows
-- that an older version writes or deletes.
create table response_bytes (
  account text primary key,
  bytes bigint not null
);
insert into response_bytes (account, bytes)
  select account, sum(octet_length(input) + octet_length(body)) from response group by account;

-- engine: sqlite
create trigger response_kept after insert on response
begin
  insert into response_bytes (account, bytes) values (new.account, octet_length(new.input) + octet_length(new.body))
    on conflict (account) do update set bytes = bytes + excluded.bytes;
end;
create trigger response_deleted after delete on response
begin
  update response_bytes set bytes = bytes - octet_length(old.input) - octet_length(old.body) where account = old.account;
end;

-- engine: postgres
create function count_response_bytes () returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into response_bytes (account, bytes) values (new.account, octet_length(new.input) + octet_length(new.body))
      on conflict (account) do update set bytes = response_bytes.bytes + excluded.bytes;
  else
    update response_bytes set bytes = bytes - octet_length(old.input) - octet_length(old.body)
      where account = old.account;
  end if;
  return null;
end
$$;
create trigger response_change after insert or delete on response
  for each row execute function count_response_bytes();
