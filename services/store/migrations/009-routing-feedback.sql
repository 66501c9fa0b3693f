-- How well clients found the answer to a routed request, 0 to 1. What the router had expected of the model is kept
-- where this node still knew it; without it a score cannot teach anything.
create table routing_feedback (
  request_id text not null,
  api_key text not null,
  score double precision not null check (score >= 0 and score <= 1),
  model text null,
  domain text null,
  expected double precision null,
  created_at bigint not null,
  primary key (request_id, api_key)
);
create index routing_feedback_created on routing_feedback (created_at);

-- What `tollgate route train --apply` has learned from feedback: log-odds to add to what is expected of a model in a
-- domain. All rows are written at once, so they all have the same time.
create table routing_offset (
  model text not null,
  domain text not null,
  log_odds double precision not null,
  scores integer not null,
  trained_at bigint not null,
  primary key (model, domain)
);
