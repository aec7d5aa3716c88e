-- Records a run's result, once, what its green steps took, and how steps end; a repeat of the same
-- result counts as recorded.
-- KEYS: run, state, usual, tallies. ARGV: result, time, seconds to keep the run, samples to keep,
-- event channel, lane, the step that failed or nothing, then pairs of a green step's name and its
-- seconds.
local run = redis.call('HMGET', KEYS[1], 'order', 'owner', 'stopped', 'result')
if not run[1] or not run[2] or run[3] then
  return 0
end
if run[4] then
  return run[4] == ARGV[1] and 1 or 0
end
redis.call('HSET', KEYS[1], 'result', ARGV[1], 'ended_at', ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
if ARGV[7] ~= '' then
  redis.call('HINCRBY', KEYS[4], '-' .. ARGV[7], 1)
end
for at = 8, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[4], '+' .. ARGV[at], 1)
  local samples = {ARGV[at + 1]}
  for sample in string.gmatch(redis.call('HGET', KEYS[3], ARGV[at]) or '', '%S+') do
    if #samples < tonumber(ARGV[4]) then
      samples[#samples + 1] = sample
    end
  end
  redis.call('HSET', KEYS[3], ARGV[at], table.concat(samples, ' '))
end
redis.call('PUBLISH', ARGV[5], ARGV[6] .. ' ' .. (redis.call('HGET', KEYS[2], 'revision') or '0'))
return 1
