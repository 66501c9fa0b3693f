-- The indexes that those of 023 replace.
drop index request_log_account;
drop index request_log_key;
drop index request_log_model;
drop index request_log_provider;
drop index request_log_other_model;
drop index request_log_called;
drop index request_log_error;
drop index request_log_cut;
-- engine: postgres
drop index request_log_at;
