-- In place of `request_log_asked`. On SQLite a function in an index makes each insert keep a statement journal, which
-- costs more than all of the row's indexes.
create index request_log_other_model on request_log ((case when asked <> model then asked end), seq)
  where asked <> model;
