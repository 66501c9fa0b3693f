-- By which the usage of a job is reported: a JSON object; null: none.
alter table job add column tags text null;
