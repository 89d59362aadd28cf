-- Depth: how many steps wait on a route before a place.
-- ARGV[2] the route; ARGV[3] the place: a key and an id, as members begin.
if not complete() then return lost() end

-- A member is longer than the place, so that the one that stands there is behind it.
return redis.call('ZLEXCOUNT', queue_of(ARGV[2]), '-', '(' .. ARGV[3])
