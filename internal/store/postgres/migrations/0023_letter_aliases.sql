-- +goose Up
-- Identities by which deliveries of a letter are recognised besides the one in tasker_letters: those of its earlier
-- deaths, and of deaths that another source has brought. A broker may deliver a message again long after its letter
-- was sent back.
CREATE TABLE tasker_letter_aliases (
    namespace text NOT NULL,
    source    text NOT NULL,
    identity  text NOT NULL,
    letter_id uuid NOT NULL,
    PRIMARY KEY (namespace, source, identity)
);
-- They are deleted with their letter.
CREATE INDEX tasker_letter_aliases_by_letter ON tasker_letter_aliases (letter_id);
