-- Whether its client asks for it by its id: 0 no, 1 it is being told the id, 2 it was. No client has to wait for
-- such a job; once the id was told, no request without an Idempotency-Key joins it.
alter table job add column background integer not null default 0;
