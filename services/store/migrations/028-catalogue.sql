-- The catalogues of models that were applied at run time, whole; the newest that was not undone counts on all nodes.
create table catalogue_update (
  id bigint primary key,
  applied_at bigint not null,
  actor text not null,
  source text not null,
  sha256 text not null,
  content text not null,
  undone_at bigint
);
