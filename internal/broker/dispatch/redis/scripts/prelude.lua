-- What every script begins with.
--
-- KEYS[1] is what all keys of the installation begin with. It has a hash tag, so
-- that they live on one node of a cluster; scripts make the other names from it.
-- ARGV[1] is the epoch that the caller believes in.
--
-- Numbers travel as bytes, big endian. A number of Lua is a double: times and
-- tokens fit in it (below 2^53), keys, routes and workers do not, and are never
-- unpacked.
local EPOCH, LOADING = KEYS[1] .. 'epoch', KEYS[1] .. 'loading'
local STEPS = KEYS[1] .. 'steps'     -- hash: step -> blob
local LEASES = KEYS[1] .. 'leases'   -- sorted set: step, by when to look after it
local ROUTES = KEYS[1] .. 'routes'   -- set: routes with waiting steps
local WORKERS = KEYS[1] .. 'workers' -- set: workers who hold steps

-- queue_of is the sorted set of what waits on a route. All scores are 0: the order
-- is that of the members, which are key (8 bytes, sign bit flipped) and step (16).
local function queue_of(route) return KEYS[1] .. 'q:' .. route end

-- held_by is the set of what a worker holds.
local function held_by(worker) return KEYS[1] .. 'w:' .. worker end

-- The blob of a step begins as it was offered: route (1-8), key (9-16), time-out
-- (17-24), last token (25-32), priority (33-36). One that is held goes on: worker
-- (37-44), assigned (45-52), started (53-60), until (61-68), look at (69-76),
-- progress (77-80), note.
local OFFERED = 36

local sub, concat = string.sub, table.concat
local pack, unpacked = struct.pack, struct.unpack

local function number(blob, at) return (unpacked('>I8', blob, at)) end
local function is_held(blob) return blob and #blob > OFFERED end

-- held_under reports whether a lease is in force: the step is held under the token, and by
-- the worker unless that is 0, which stands for any.
local ANYBODY = string.rep('\0', 8)
local function held_under(blob, token, worker)
  return is_held(blob) and sub(blob, 25, 32) == token and (worker == ANYBODY or sub(blob, 37, 44) == worker)
end

local function queued_as(id, blob) return sub(blob, 9, 16) .. id end

local function lost() return redis.error_reply('TASKERLOST') end

-- complete reports whether the content is what the caller believes in; fillable,
-- whether it is that or is being filled.
local function complete() return redis.call('GET', EPOCH) == ARGV[1] end
local function fillable()
  local epoch = redis.call('GET', EPOCH)
  return epoch == ARGV[1] or (not epoch and redis.call('EXISTS', LOADING) == 1)
end

-- run names the time since the server was started.
local function run() return string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') end

-- send calls a command with many arguments. Lua's stack bounds how many a call
-- can have; an even number keeps pairs together.
local function send(command, key, args)
  for first = 1, #args, 2000 do
    redis.call(command, key, unpack(args, first, math.min(first + 1999, #args)))
  end
end

-- fetch returns the blobs of steps, false where there is none.
local function fetch(ids)
  if #ids <= 1000 then
    return #ids > 0 and redis.call('HMGET', STEPS, unpack(ids)) or {}
  end
  local blobs = {}
  for first = 1, #ids, 1000 do
    local last = math.min(first + 999, #ids)
    local part = redis.call('HMGET', STEPS, unpack(ids, first, last))
    for n = first, last do blobs[n] = part[n - first + 1] end
  end
  return blobs
end

-- append adds to one of several lists.
local function append(lists, name, ...)
  local list = lists[name]
  if not list then
    list = {}
    lists[name] = list
  end
  for n = 1, select('#', ...) do list[#list + 1] = (select(n, ...)) end
end

-- unqueue takes waiting members out of queues.
local function unqueue(members)
  for route, list in pairs(members) do
    local queue = queue_of(route)
    send('ZREM', queue, list)
    if redis.call('EXISTS', queue) == 0 then redis.call('SREM', ROUTES, route) end
  end
end

-- unhand takes steps out of the hands of workers.
local function unhand(steps)
  for worker, list in pairs(steps) do
    local hands = held_by(worker)
    send('SREM', hands, list)
    if redis.call('EXISTS', hands) == 0 then redis.call('SREM', WORKERS, worker) end
  end
end

-- take_out removes steps, each with its blob, from wherever they are.
local function take_out(steps)
  local ids, members, ended, hands = {}, {}, {}, {}
  for n, step in ipairs(steps) do
    local id, blob = step[1], step[2]
    ids[n] = id
    if is_held(blob) then
      ended[#ended + 1] = id
      append(hands, sub(blob, 37, 44), id)
    else
      append(members, sub(blob, 1, 8), queued_as(id, blob))
    end
  end
  send('HDEL', STEPS, ids)
  send('ZREM', LEASES, ended)
  unqueue(members)
  unhand(hands)
end

-- hand puts steps into the hands of workers.
local function hand(steps)
  for worker, list in pairs(steps) do
    send('SADD', held_by(worker), list)
    redis.call('SADD', WORKERS, worker)
  end
end

-- renewed is the blob of a held step with another end of its lease, and when to
-- look after it: then, or when the attempt's time is over.
local function renewed(blob, started, lease_end)
  local look_at, timeout = lease_end, number(blob, 17)
  if timeout > 0 then look_at = math.min(lease_end, started + timeout) end
  return sub(blob, 1, 52) .. pack('>I8I8I8', started, lease_end, look_at) .. sub(blob, 77), look_at
end
