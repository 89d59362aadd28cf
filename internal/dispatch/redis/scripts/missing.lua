-- Missing: which steps are unknown. ARGV[2] the steps. Answers with a 0 or 1 for
-- each, 1 where it is unknown.
if not complete() then return lost() end

local flags = {}
for at = 1, #ARGV[2], 16 do
  flags[#flags + 1] = 1 - redis.call('HEXISTS', STEPS, sub(ARGV[2], at, at + 15))
end
return concat(flags)
