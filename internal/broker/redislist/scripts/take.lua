#!lua flags=allow-oom
-- Moves up to ARGV[2] entries, of about ARGV[3] bytes in all, from the head of a queue to the end of a consumer's list.
-- It registers the consumer in the same step: entries never lie in a list that nobody looks after.
if redis.call('ZSCORE', KEYS[4], ARGV[1]) then
  return redis.error_reply('TAKENOVER the consumer was silent for too long')
end
local t = redis.call('TIME')
redis.call('ZADD', KEYS[3], t[1] * 1000 + math.floor(t[2] / 1000), ARGV[1])
local entries, bytes = {}, 0
for i = 1, tonumber(ARGV[2]) do
  local entry = redis.call('LMOVE', KEYS[1], KEYS[2], ARGV[4], 'RIGHT')
  if not entry then break end
  entries[i] = entry
  bytes = bytes + #entry
  if bytes >= tonumber(ARGV[3]) then break end
end
return entries
