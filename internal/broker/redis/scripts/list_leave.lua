#!lua flags=allow-oom
-- Puts messages that a receiver holds aside, because they are too large to be taken. They belong to the owner of the list
-- and are never deleted. Those that it does not hold any more stay where they are. A field is named by its ID and size.
--
-- KEYS: held, oversized    ARGV: IDs
for _, id in ipairs(ARGV) do
  local payload = redis.call('HGET', KEYS[1], id)
  if payload then
    redis.call('HSET', KEYS[2], id .. ':' .. #payload, payload)
    redis.call('HDEL', KEYS[1], id)
  end
end
return 0
