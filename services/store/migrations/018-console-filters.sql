-- Filters of the console's lists, newest first. Only the first two, and on Postgres `entry_chain`, cost every request
-- a row. On SQLite, whose small cache has few pages of an index of chains, that one would cost more than the entry.
create index request_log_model on request_log (model, seq);
create index request_log_provider on request_log (provider, seq);
create index request_log_asked on request_log (nullif(asked, model), seq) where nullif(asked, model) is not null;
create index request_log_called on request_log (seq) where attempts > 1 or provider = '';
create index request_log_error on request_log (status, seq) where status >= 400;
create index request_log_cut on request_log (outcome, seq) where outcome = 1 or outcome = 3;
create index entry_debit on entry (debit, seq) where kind <> 'usage';
create index entry_credit on entry (credit, seq) where kind <> 'usage';
create index entry_kind on entry (kind, seq) where kind <> 'usage';
create index account_listed on account (id) where kind = 'account';
create index api_key_of_account on api_key (account, created_at, id);
create index job_state on job (state, created_at, id);
create index job_model on job (model, created_at, id);
create index job_undelivered on job (created_at, id) where delivered = 0;
create index media_kind on media (substr(mime, 1, 6), created_at, id);
create index audit_action on audit (action, seq);
create index audit_at on audit (at);
-- engine: postgres
create index entry_chain on entry (chain, seq) where chain is not null;
