-- Notes how far a run is, while its worker still owns it and somebody still wants it.
-- KEYS: run, state. ARGV: worker, progress, step, event channel, lane.
local run = redis.call('HMGET', KEYS[1], 'owner', 'stopped', 'result', 'step')
if run[1] ~= ARGV[1] or run[2] or run[3] then
  return 0
end
redis.call('HSET', KEYS[1], 'progress', ARGV[2], 'step', ARGV[3])
if run[4] ~= ARGV[3] then
  redis.call('PUBLISH', ARGV[4], ARGV[5] .. ' ' .. (redis.call('HGET', KEYS[2], 'revision') or '0'))
end
return 1
