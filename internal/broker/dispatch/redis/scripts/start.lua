-- Start: begins the attempts of what is assigned, and renews what has begun.
-- ARGV[2] now; ARGV[3] until; ARGV[4] step, token and worker of each lease.
-- Answers with step and blob of each, empty where the lease is not in force.
if not complete() then return lost() end

local now, lease_end = number(ARGV[2], 1), number(ARGV[3], 1)
local ids, tokens, workers = {}, {}, {}
for at = 1, #ARGV[4], 32 do
  ids[#ids + 1] = sub(ARGV[4], at, at + 15)
  tokens[#tokens + 1] = sub(ARGV[4], at + 16, at + 23)
  workers[#workers + 1] = sub(ARGV[4], at + 24, at + 31)
end

local blobs, changed, answers = fetch(ids), {}, {}
local values, leases = {}, {}
for n, id in ipairs(ids) do
  local blob = changed[id] or blobs[n]
  answers[n] = ''
  if held_under(blob, tokens[n], workers[n]) then
    local started, look_at = number(blob, 53), nil
    if started == 0 then started = now end
    blob, look_at = renewed(blob, started, lease_end)
    changed[id], answers[n] = blob, id .. blob
    values[#values + 1], values[#values + 2] = id, blob
    leases[#leases + 1], leases[#leases + 2] = look_at, id
  end
end
send('HSET', STEPS, values)
send('ZADD', LEASES, leases)
return answers
