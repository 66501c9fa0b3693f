-- Searches by the beginning of a name or id: A–Z as a–z, in the order of UTF-8.
-- engine: sqlite
create index account_name on account (lower(name), id) where kind = 'account';
create index account_folded_id on account (lower(id), id) where kind = 'account';
create index api_key_label on api_key (lower(label), id);
create index api_key_folded_id on api_key (lower(id), id);
create index job_folded_id on job (lower(id), id);
-- engine: postgres
create index account_name on account (lower(name collate "C"), id) where kind = 'account';
create index account_folded_id on account (lower(id collate "C"), id) where kind = 'account';
create index api_key_label on api_key (lower(label collate "C"), id);
create index api_key_folded_id on api_key (lower(id collate "C"), id);
create index job_folded_id on job (lower(id collate "C"), id);
