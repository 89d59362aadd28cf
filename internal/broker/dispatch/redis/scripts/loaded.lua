-- Loaded: the content is complete. ARGV[2] the turn of the caller; ARGV[3] a random
-- name for the epoch. Answers with the epoch, which also names the run of the server.
if redis.call('GET', LOADING) ~= ARGV[2] .. '.' .. run() then return lost() end
local epoch = ARGV[3] .. '.' .. run()
redis.call('SET', EPOCH, epoch)
redis.call('DEL', LOADING)
return epoch
