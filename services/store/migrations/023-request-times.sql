-- The request log is listed by time, so that an old period is found as fast as the newest rows. On SQLite, each index
-- ends with the number of the row anyway.
-- engine: sqlite
create index request_log_account_at on request_log (account, at);
create index request_log_key_at on request_log (api_key, at);
create index request_log_model_at on request_log (model, at);
create index request_log_provider_at on request_log (provider, at);
create index request_log_other_model_at on request_log ((case when asked <> model then asked end), at)
  where asked <> model;
create index request_log_called_at on request_log (at) where attempts > 1 or provider = '';
create index request_log_error_at on request_log (status, at) where status >= 400;
create index request_log_cut_at on request_log (outcome, at) where outcome = 1 or outcome = 3;
-- engine: postgres
create index request_log_time on request_log (at, seq);
create index request_log_account_at on request_log (account, at, seq);
create index request_log_key_at on request_log (api_key, at, seq);
create index request_log_model_at on request_log (model, at, seq);
create index request_log_provider_at on request_log (provider, at, seq);
create index request_log_other_model_at on request_log ((case when asked <> model then asked end), at, seq)
  where asked <> model;
create index request_log_called_at on request_log (at, seq) where attempts > 1 or provider = '';
create index request_log_error_at on request_log (status, at, seq) where status >= 400;
create index request_log_cut_at on request_log (outcome, at, seq) where outcome = 1 or outcome = 3;
