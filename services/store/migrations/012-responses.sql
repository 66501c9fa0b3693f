-- Responses that clients had stored, for `previous_response_id` and for reading them again. `input` has the
-- items of the request alone; those of earlier turns are found through `previous`. `bytes` counts them too.
create table response (
  account text not null,
  id text not null,
  previous text null,
  created_at bigint not null,
  expires_at bigint not null,
  bytes bigint not null,
  input text not null,
  body text not null,
  primary key (account, id)
);
create index response_expiry on response (expires_at);

-- Which response has an output item, for items that are sent back by their id alone.
create table response_item (
  account text not null,
  id text not null,
  response text not null,
  primary key (account, id)
);
create index response_item_response on response_item (account, response);
