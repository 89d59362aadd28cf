#!lua flags=allow-oom
-- Removes entries from a consumer's list. ARGV[1] is 1 to look from the oldest entry, -1 from the newest.
local removed = 0
for i = 2, #ARGV do
  removed = removed + redis.call('LREM', KEYS[1], ARGV[1], ARGV[i])
end
return removed
