#!lua flags=allow-oom
-- Moves entries from a consumer's list back to the head of the queue, the first of ARGV foremost. What is not in the
-- list stays where it is. It pushes before it removes: Redis does not undo a script that fails half-way.
local released = 0
for i = #ARGV, 2, -1 do
  if redis.call('LPOS', KEYS[2], ARGV[i]) then
    redis.call(ARGV[1], KEYS[1], ARGV[i])
    redis.call('LREM', KEYS[2], 1, ARGV[i])
    released = released + 1
  end
end
return released
