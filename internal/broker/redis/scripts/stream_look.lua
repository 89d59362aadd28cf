#!lua flags=no-writes
-- Looks at a stream. KEYS: stream    ARGV: group, number of entries
-- Returns whether it exists, how many entries wait for the group or -1 if that is not known, and the next entries that
-- nobody of the group has taken.
local key = KEYS[1]
if redis.call('EXISTS', key) == 0 then return {0, 0, {}} end
local waiting, from = redis.call('XLEN', key), '-'
for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
  local of = {}
  for i = 1, #group, 2 do of[group[i]] = group[i + 1] end
  if of['name'] == ARGV[1] then
    waiting = of['lag'] and of['lag'] + of['pending'] or -1
    from = '(' .. of['last-delivered-id']
  end
end
local entries = {}
if ARGV[2] ~= '0' then entries = redis.call('XRANGE', key, from, '+', 'COUNT', ARGV[2]) end
return {1, waiting, entries}
