-- Reload: begins to fill the content anew, or goes on with it.
-- ARGV[1] and ARGV[2] the epochs that the caller may replace; ARGV[3] the turn that
-- it has, empty if none; ARGV[4] the turn that it would get; ARGV[5] for how many
-- milliseconds. Answers 1 if it has the turn, which is one in this run of the
-- server: after a restart the last moments of filling may be missing.
local turn, epoch, run = redis.call('GET', LOADING), redis.call('GET', EPOCH), '.' .. run()
if turn and sub(turn, -#run) ~= run then turn = nil end
if ARGV[3] ~= '' then
  if turn ~= ARGV[3] .. run then return 0 end -- it ran out
  redis.call('PEXPIRE', LOADING, ARGV[5])
  return 1
end
if turn then return 0 end
if epoch and epoch ~= ARGV[1] and epoch ~= ARGV[2] then return 0 end -- somebody was quicker

redis.call('DEL', EPOCH)
for _, route in ipairs(redis.call('SMEMBERS', ROUTES)) do redis.call('UNLINK', queue_of(route)) end
for _, worker in ipairs(redis.call('SMEMBERS', WORKERS)) do redis.call('UNLINK', held_by(worker)) end
redis.call('UNLINK', STEPS, LEASES, ROUTES, WORKERS)
redis.call('SET', LOADING, ARGV[4] .. run, 'PX', ARGV[5])
return 1
