-- When the provider last reported something new of a job; null: nothing since it was submitted.
alter table job add column polled_at bigint null;
