-- HeldBy: some of what a worker holds. ARGV[2] the worker; ARGV[3] at most how
-- many. Answers with step and blob of each.
if not complete() then return lost() end

local ids = redis.call('SRANDMEMBER', held_by(ARGV[2]), ARGV[3])
local answers = {}
for n, blob in ipairs(fetch(ids)) do answers[n] = is_held(blob) and ids[n] .. blob or '' end
return answers
