-- Lists of the console, newest first.
create index media_created on media (created_at, id);
create index media_account on media (account, created_at, id);
create index request_log_account on request_log (account, seq);
create index request_log_key on request_log (api_key, seq);
