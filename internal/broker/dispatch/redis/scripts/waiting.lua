-- Waiting: how many steps wait on each route. ARGV[2] the routes.
if not complete() then return lost() end

local counts = {}
for at = 1, #ARGV[2], 8 do
  counts[#counts + 1] = redis.call('ZCARD', queue_of(sub(ARGV[2], at, at + 7)))
end
return counts
