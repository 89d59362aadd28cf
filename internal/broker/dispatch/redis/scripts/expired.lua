-- Expired: what has to be looked after, the earliest first. ARGV[2] now, as
-- decimal digits; ARGV[3] at most how many. Answers with step and blob of each.
if not complete() then return lost() end

local ids = redis.call('ZRANGEBYSCORE', LEASES, '-inf', ARGV[2], 'LIMIT', 0, ARGV[3])
local answers = {}
for n, blob in ipairs(fetch(ids)) do answers[n] = is_held(blob) and ids[n] .. blob or '' end
return answers
