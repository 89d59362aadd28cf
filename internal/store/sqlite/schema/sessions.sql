-- People who are signed in to the dashboard.
CREATE TABLE tasker_sessions (
    hash       BLOB    NOT NULL PRIMARY KEY, -- SHA-256 of the token that the browser has
    key_name   TEXT    NOT NULL,
    key_id     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
CREATE INDEX tasker_sessions_by_key ON tasker_sessions (key_name);
CREATE INDEX tasker_sessions_by_expiry ON tasker_sessions (expires_at);
