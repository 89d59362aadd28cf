-- Claim: hands the lowest keys to each claim in turn.
-- ARGV[2] now; ARGV[3] all routes that are asked for; ARGV[4] the claims: set of
-- routes (2), worker (8), capacity (4), start at once (1), until (8), window (4),
-- lowest token (8); ARGV[5...] for each route the sets that it is in (2 each), and
-- then, if there are bounds, the most steps of each route (4 each).
-- Answers with the holds of each claim as one string.
if not complete() then return lost() end

local now, never = ARGV[2], pack('>I8', 0)
local claims, wanted = {}, 0
for at = 1, #ARGV[4], 35 do
  local c = {worker = sub(ARGV[4], at + 2, at + 9), until_bytes = sub(ARGV[4], at + 15, at + 22)}
  c.set = unpacked('>I2', ARGV[4], at)
  c.capacity, c.start = unpacked('>I4B', ARGV[4], at + 10)
  c.lease_end, c.window, c.token = unpacked('>I8I4I8', ARGV[4], at + 15)
  -- What all blobs of the claim have between priority and look at.
  c.middle = c.worker .. now .. (c.start == 1 and now or never) .. c.until_bytes
  wanted = wanted + c.capacity
  claims[#claims + 1] = c
end
local ahead = math.min(wanted, 100) -- how much of a queue is read at once

-- advance makes the next member of a queue its head; none when it is empty. What
-- was taken stays in the queue until the end: nothing is changed before all is known.
local function advance(queue)
  if queue.taken >= queue.most then
    queue.head, queue.full = nil, true
    return
  end
  queue.at = queue.at + 1
  if queue.at > #queue.members then
    queue.at, queue.members = 1, redis.call('ZRANGE', queue.name, queue.taken, queue.taken + ahead - 1)
    local ids = {}
    for n, member in ipairs(queue.members) do ids[n] = sub(member, 9) end
    queue.blobs = fetch(ids)
  end
  queue.head = queue.members[queue.at]
  if queue.head then queue.high, queue.low = unpacked('>I4I4', queue.head) end
end

-- before compares heads by key and then step. Strings cannot be compared: Lua
-- does that by the locale of the server.
local function before(a, b)
  if a.high ~= b.high then return a.high < b.high end
  if a.low ~= b.low then return a.low < b.low end
  local a1, a2, a3, a4 = unpacked('>I4I4I4I4', a.head, 9)
  local b1, b2, b3, b4 = unpacked('>I4I4I4I4', b.head, 9)
  if a1 ~= b1 then return a1 < b1 end
  if a2 ~= b2 then return a2 < b2 end
  if a3 ~= b3 then return a3 < b3 end
  return a4 < b4
end

-- A set of routes is a heap of heads. Sets share queues: a head may be out of date,
-- and then is too low; it is brought up to date when it comes to the top.
local function refresh(entry)
  local queue = entry.queue
  entry.taken, entry.head, entry.high, entry.low = queue.taken, queue.head, queue.high, queue.low
  return entry
end

local function up(heap, n)
  while n > 1 do
    local parent = math.floor(n / 2)
    if not before(heap[n], heap[parent]) then return end
    heap[n], heap[parent] = heap[parent], heap[n]
    n = parent
  end
end

local function down(heap, n)
  while true do
    local least = n
    for child = 2 * n, 2 * n + 1 do
      if heap[child] and before(heap[child], heap[least]) then least = child end
    end
    if least == n then return end
    heap[n], heap[least] = heap[least], heap[n]
    n = least
  end
end

local function first(heap)
  while heap[1] do
    local top = heap[1]
    if top.taken == top.queue.taken then return top.queue end
    if top.queue.head then
      refresh(top)
    else
      heap[1] = heap[#heap]
      heap[#heap] = nil
    end
    if heap[2] then down(heap, 1) end
  end
end

-- Only routes where something waits cost more than a look.
local heaps, queues, routes = {}, {}, {}
for at = 1, #ARGV[3], 8 do routes[#routes + 1] = sub(ARGV[3], at, at + 7) end
local bounds = ARGV[5 + #routes]
for from = 1, #routes, 2000 do
  local some = redis.call('SMISMEMBER', ROUTES, unpack(routes, from, math.min(from + 1999, #routes)))
  for n = 1, wanted > 0 and #some or 0 do
    if some[n] == 1 then
      local route = routes[from + n - 1]
      local queue = {route = route, name = queue_of(route), taken = 0, at = 0, members = {}, most = math.huge}
      if bounds then queue.most = unpacked('>I4', bounds, 4 * (from + n) - 7) end
      advance(queue)
      queues[#queues + 1] = queue
      local sets = ARGV[4 + from + n - 1]
      for at = 1, queue.head and #sets or 0, 2 do
        local set = unpacked('>I2', sets, at)
        append(heaps, set, refresh({queue = queue}))
        up(heaps[set], #heaps[set])
      end
    end
  end
end

local values, leases, hands, answers = {}, {}, {}, {}
local total = 0
for n, c in ipairs(claims) do
  local heap, got, mine = heaps[c.set] or {}, {}, {}
  local count, lowest, highest = 0, nil, nil
  while count < c.capacity do
    local queue = first(heap)
    if not queue then break end
    local blob = queue.blobs[queue.at]
    if not blob or #blob ~= OFFERED then
      redis.call('DEL', EPOCH) -- something was deleted by somebody else
      return lost()
    end
    local timeout, last, priority = unpacked('>I8I8I4', blob, 17)
    if c.window > 0 then
      lowest, highest = math.min(lowest or priority, priority), math.max(highest or priority, priority)
      if highest - lowest > c.window then break end
    end

    local id = sub(queue.head, 9)
    local token = math.max(last + 1, c.token)
    local look_at, look_at_bytes = c.lease_end, c.until_bytes
    if c.start == 1 and timeout > 0 and number(now, 1) + timeout < look_at then
      look_at = number(now, 1) + timeout
      look_at_bytes = pack('>I8', look_at)
    end
    blob = sub(blob, 1, 24) .. pack('>I8', token) .. sub(blob, 33) .. c.middle .. look_at_bytes .. '\0\0\0\0'

    count, total = count + 1, total + 2
    got[2 * count - 1], got[2 * count], mine[count] = id, blob, id
    values[total - 1], values[total] = id, blob
    leases[total - 1], leases[total] = look_at, id
    queue.taken = queue.taken + 1
    advance(queue)
  end
  answers[n] = concat(got)
  for i = 1, count do append(hands, c.worker, mine[i]) end
end

for _, queue in ipairs(queues) do
  if queue.taken > 0 then redis.call('ZREMRANGEBYRANK', queue.name, 0, queue.taken - 1) end
  if not queue.head and not queue.full then redis.call('SREM', ROUTES, queue.route) end
end
send('HSET', STEPS, values)
send('ZADD', LEASES, leases)
hand(hands)
return answers
