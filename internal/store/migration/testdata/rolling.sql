-- A migration such as the next one may be: it adds to what every node uses, under nodes that do not know it.
ALTER TABLE tasker_tasks ADD COLUMN shade text NOT NULL DEFAULT 'grey';
ALTER TABLE tasker_workflow_steps ADD COLUMN shade text;
CREATE INDEX tasker_tasks_by_shade ON tasker_tasks (shade, id);
CREATE TABLE tasker_shades (
    shade text PRIMARY KEY,
    since bigint NOT NULL
);
CREATE VIEW v_shades AS
SELECT t.id, t.shade, s.since FROM tasker_tasks t LEFT JOIN tasker_shades s ON s.shade = t.shade;
