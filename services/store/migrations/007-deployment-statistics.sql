-- What each node has measured of each deployment; read and written every few seconds, never per request. `count` is
-- the number of calls that the node has ever measured there, `sums` the JSON of what services/deployments/sums.ts
-- describes, as of `at`.
create table deployment_statistics (
  node text not null,
  provider text not null,
  model text not null,
  at bigint not null,
  count bigint not null,
  sums text not null,
  primary key (node, provider, model)
);
create index deployment_statistics_at on deployment_statistics (at);
