-- Depth: how many steps wait on a route with a key below a bound.
-- ARGV[2] the route; ARGV[3] the bound, as keys begin.
if not complete() then return lost() end

-- A member is longer than the bound, so that one with an equal key is behind it.
return redis.call('ZLEXCOUNT', queue_of(ARGV[2]), '-', '(' .. ARGV[3])
