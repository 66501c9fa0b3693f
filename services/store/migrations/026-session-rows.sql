-- Sessions of the console. The token is known to the browser alone, so that no row, and no copy of the database, is a
-- session. Earlier sessions were encrypted cookies, and end here.
create table console_session (
  token_sha256 text primary key,
  -- Who signed in, as in the audit log: all sessions of one end together.
  actor text not null,
  -- JSON, see services/keys/sessions/session.ts.
  holder text not null,
  payer text null,
  started_at bigint not null,
  seen_at bigint not null
);
create index console_session_actor on console_session (actor);

-- Attempts to sign in by OpenID Connect that have started a session, and start no other.
create table used_sign_in (
  attempt_sha256 text primary key,
  used_at bigint not null
);

delete from secret where name in ('console-session', 'console-csrf');
