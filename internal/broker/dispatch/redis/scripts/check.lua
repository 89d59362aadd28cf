-- Check: answers with the epoch, empty if the content is not complete, the run of
-- the server, and what it does when its memory is full: empty if nothing is evicted.
local memory = redis.call('INFO', 'memory')
local policy = string.match(memory, 'maxmemory_policy:(allkeys[%w-]*)')
if string.match(memory, 'maxmemory:(%d+)') == '0' then policy = nil end
return {redis.call('GET', EPOCH) or '', run(), policy or ''}
