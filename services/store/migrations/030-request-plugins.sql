-- The plugins that took part in a request, as the header x-tollgate-plugins has them.
alter table request_log add column plugins text;
