-- Sessions of the console that signed out before they expired. The cookie has all else of a session.
create table ended_session (
  id text primary key,
  expires_at bigint not null
);
create index ended_session_expiry on ended_session (expires_at);
