-- Replaced by `request_log_other_model`; apart from it, so that Postgres builds that one while others write.
drop index request_log_asked;
