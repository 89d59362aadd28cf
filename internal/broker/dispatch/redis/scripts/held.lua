-- Held: how many steps each worker holds. Answers with workers (8 bytes each) and counts.
if not complete() then return lost() end

local workers, counts = redis.call('SMEMBERS', WORKERS), {}
for n, worker in ipairs(workers) do counts[n] = redis.call('SCARD', held_by(worker)) end
return {workers, counts}
