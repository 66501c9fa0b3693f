-- What `x-tollgate-route` said of a request whose model the gateway chose. A score of its answer teaches something
-- also when another node takes it, or this one was started anew.
alter table request_log add column routed text null;
