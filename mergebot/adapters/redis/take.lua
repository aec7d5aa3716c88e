-- Gives a run to one worker, once; a repeat of the same call gets it again.
-- KEYS: run, state. ARGV: worker, name of this call, progress, seconds to keep the run, event
-- channel, lane.
local run = redis.call('HMGET', KEYS[1], 'order', 'stopped', 'result', 'call')
if not run[1] or run[2] or run[3] then
  return false
end
if run[4] then
  return run[4] == ARGV[2] and run[1] or false
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'call', ARGV[2], 'progress', ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('PUBLISH', ARGV[5], ARGV[6] .. ' ' .. (redis.call('HGET', KEYS[2], 'revision') or '0'))
return run[1]
