-- How much more the best model of the pool would have cost, for requests to `auto`; negative if less.
alter table usage_day add column saved bigint not null default 0;
