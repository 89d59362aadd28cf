-- Renew: extends the leases of attempts that have begun, and stores progress.
-- ARGV[2] until; ARGV[3] of each lease: step, token, worker, and the length of what follows
-- (4): nothing, or progress (4) and note.
-- Answers like Start.
if not complete() then return lost() end

local lease_end = number(ARGV[2], 1)
local ids, tokens, workers, progress = {}, {}, {}, {}
local at = 1
while at <= #ARGV[3] do
  local n = #ids + 1
  ids[n], tokens[n], workers[n] = sub(ARGV[3], at, at + 15), sub(ARGV[3], at + 16, at + 23), sub(ARGV[3], at + 24, at + 31)
  local length = unpacked('>I4', ARGV[3], at + 32)
  progress[n] = length > 0 and sub(ARGV[3], at + 36, at + 35 + length)
  at = at + 36 + length
end

local blobs, changed, answers = fetch(ids), {}, {}
local values, leases = {}, {}
for n, id in ipairs(ids) do
  local blob = changed[id] or blobs[n]
  answers[n] = ''
  if held_under(blob, tokens[n], workers[n]) then
    if progress[n] then blob = sub(blob, 1, 76) .. progress[n] end
    local started, look_at = number(blob, 53), nil
    if started > 0 then -- who is only assigned has to start in time
      blob, look_at = renewed(blob, started, lease_end)
      leases[#leases + 1], leases[#leases + 2] = look_at, id
    end
    changed[id], answers[n] = blob, id .. blob
    values[#values + 1], values[#values + 2] = id, blob
  end
end
send('HSET', STEPS, values)
send('ZADD', LEASES, leases)
return answers
