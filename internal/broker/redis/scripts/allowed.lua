#!lua flags=no-writes
-- Asks which commands the user may run on which keys. It runs none of them.
-- ARGV: for each command the number of its words, and the words. Returns 1 or 0 for each.
local out, at = {}, 1
while at <= #ARGV do
  local n = tonumber(ARGV[at])
  out[#out + 1] = redis.acl_check_cmd(unpack(ARGV, at + 1, at + n)) and 1 or 0
  at = at + n + 1
end
return out
