#!lua flags=allow-oom
-- Puts messages that a receiver holds back at the head of their list, in their order. Messages that it does not hold any
-- more stay where they are.
--
-- KEYS: list, receivers, held    ARGV: receiver, LEFT or RIGHT, SOME or ALL BUT, IDs
-- ALL BUT ends the receiver: those that are named count as left by a receiver that is gone.
local named, all = {}, ARGV[3] == 'ALL BUT'
for i = 4, #ARGV do named[ARGV[i]] = true end
local ids = redis.call('HKEYS', KEYS[3])
table.sort(ids, function(a, b) return a > b end)
local push = 'LPUSH'
if ARGV[2] == 'RIGHT' then push = 'RPUSH' end
for _, id in ipairs(ids) do
  if all ~= (named[id] or false) then
    redis.call(push, KEYS[1], redis.call('HGET', KEYS[3], id))
    redis.call('HDEL', KEYS[3], id)
  end
end
if all and redis.call('EXISTS', KEYS[3]) == 1 then
  redis.call('ZADD', KEYS[2], 0, ARGV[1])
elseif all then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return 0
