-- Since when its client sees it no more; a running job then ends like one that no client waits for.
alter table job add column deleted_at bigint null;
