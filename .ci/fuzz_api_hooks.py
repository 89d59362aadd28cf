"""What schemathesis cannot know of the API by its OpenAPI document."""

import re

import schemathesis

# Rules that JSON Schema has no words for, or none that generators follow: a request that
# breaks one of them is right by the document, and is refused all the same. Each is what
# the message of a detail says.
RULES = [
    r"control character",  # no text may steer a terminal or a log
    r"is \d+ bytes long",  # schemas count characters, stores bytes
    r"must be after 1970-01-01T00:00:00Z and before 9000-01-01T00:00:00Z",  # times that can be stored
    r"must be a time such as",  # dates that generators make, and calendars do not have
    r"is not a cursor of this|next_cursor of the p",
    r"is not the ID of a group",  # 16 hexadecimal digits, not all of them 0
    r"must be a time of day such as",
    r"illegal base64 data",
    r"may have one \*, at its end",  # targets of a source
    r"must (not )?be in the future",
    r"must not be longer than \d+ bytes",
    # a JSON Patch, or a JSON merge patch
    r"is not a list of operations|is not a JSON pointer|there is no value at|must be one of add, remove|"
    r"must be a JSON merge patch|cannot be (removed|moved)",
    r"must be from (0\.0\d*|1|1ms) to",  # 0 stands for the default, or for no bound
    r"is not known to this server",  # drivers are wiring
    r"this server has no message broker",  # the transport of a worker
    r"/(when|group_by/\d+) at \d+:\d+: ",  # the language of rules, with the place in it
    r"is blank",  # a reason or an actor of spaces only
    r"is reserved for what Tasker does",
    r"must be (a URL|http or https|without user)",  # health_url
    r"nests deeper than",
    r"is not a W3C trace",
    r"query.state must be (one of|draft)|there is no status",  # one value may hold several states, with commas
    r"query\.(letter|task)_uuid must be a UUID",  # one value may hold several, with commas
    r"the server takes results of up to|must not be combined with result",  # large results, without a blob store
    r"is not a priority",  # names of levels are configuration
    r"^ and \d+ more problems",
]

# Rules that tie fields of one body to each other, and languages inside a text.
TIES = [
    r" (name|give|say) ",  # name a template or a handler; give one of two; say which, or why
    r"must not be empty|an entry is empty",
    r"there is nothing to change",
    r"^/(edit/)?patch|^/(rule/)?(when|group_by/\d+) ",  # languages: JSON Patch, expressions of rules
    r"only a redrive can|restricts (letters|cases)|must not be zero|may repeat at most",
    r"payload (would be|is empty|of the letter was cut)|the edited payload|regular expressions? ",
    r"^/destination ",  # it exists, it is allowed, its broker answers: the state of things beside the request
    r"cannot be merged into itself|is of another namespace|must be one ETag",
    r"give one of failure and group_id",
    r"must be the etag of an answer",
    r"must be what the header [A-Za-z-]+ says",
    r"must be later than (after|first_after|run_at)|needs header_name|excludes what min_replays|are for (selections of the kind|the operation)",
    r"must not be (shorter than base|smaller than canary)",
    r"goes with the state|is for the operation|for this operation|only letters are restored",
    r"is in drop_headers|in base64, not both|give its type, code or message",
    r"excludes patch|changes nothing",
    r"stays within one namespace",  # a key of one namespace may leave it out
    r"goes with(out)? ",  # fields that need or exclude each other
    r"must have at least one field",  # filters that would select everything
    r"^/intake/delay |must differ between messages|no JSON pointer|JSON pointer of more than|must name a header|"
    r"must be message:id|is the queue of the source|there is nothing to take in",  # values of an intake
    r"^/topic |keeps (no )?messages|must be after since|must be greater than from_offset|the source has none|"
    r"^/rate must be 0, or from|^/partitions/\d+ ",  # of a replay
    r"is about one thing",
    r"does not go with",
    r"must begin with https:// or http://",  # targets of a source whose driver is http
    r"a case that is opened again is pending",
    r"only complete_manually takes a result",
    r"a failed step needs its error",
    r"as registered",
    r"they go with task_type only",
    r"complete_manually needs the result",
    r"there is no template|the template .* has no version",
    r"^/(handler|template) is missing|does not belong to a|only a route has|no further name|have \d+ bytes together",
    r"^/(cron|time_zone) |with missed all|is before (start_at|from)|needs a context that|more than \d+ times",
    r"later times of the schedule|must be a time$",  # of a backfill
    r"so is rate: one is needed|at most one per microsecond",  # limits of operators
    r"^/(tasks/\d+/)?unique/(by|while|period)",  # a rule has a language of its own
    r"the document is empty|:\d+:\d+ ",  # YAML, with the place in it
]
KNOWN = re.compile("|".join(RULES + TIES))


@schemathesis.check
def rules_are_stated(ctx, response, case):
    """A request that the document allows is refused for a known rule, or is a finding."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive or response.status_code not in (400, 413):
        return
    problem = response.json()
    details = problem.get("errors") or [{"location": "", "message": problem["detail"]}]
    unknown = [d for d in details if not KNOWN.search(d.get("location", "") + " " + d["message"])]
    assert not unknown, f"the document allows the request, and the server refuses it: {unknown[:3]}"
