-- Writes a change of the ledger if it is still at the revision it was decided at; all or nothing.
-- A repeat of the same commit, after an answer that was lost, counts as written.
-- KEYS: state, live, order, ended, past, notes, asked.
-- ARGV: epoch read, revision read, name of this commit, epoch to begin with, highest generation,
-- ended claims kept, notes kept, event channel, lane, number of claims, then for each claim its id,
-- 1 while it is live, its JSON; then for each note 1 where it records a question, its JSON.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'revision', 'commit', 'generation')
if state[3] == ARGV[3] then
  return state[1]
end
local revision = tonumber(state[2] or '0')
if (state[1] or '') ~= ARGV[1] or revision ~= tonumber(ARGV[2]) then
  return false
end
local epoch = state[1] or ARGV[4]
revision = revision + 1
local generation = math.max(tonumber(state[4] or '0'), tonumber(ARGV[5]))
redis.call('HSET', KEYS[1], 'epoch', epoch, 'revision', revision, 'commit', ARGV[3], 'generation', generation)
local at = 11
for _ = 1, tonumber(ARGV[10]) do
  local name, live, text = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  redis.call('ZADD', KEYS[3], revision, name)
  if live == '1' then
    redis.call('HSET', KEYS[2], name, text)
  else
    redis.call('HDEL', KEYS[2], name)
    redis.call('HSET', KEYS[4], name, text)
    redis.call('ZADD', KEYS[5], revision, name)
  end
  at = at + 3
end
local surplus = redis.call('ZCARD', KEYS[5]) - tonumber(ARGV[6])
if surplus > 0 then
  for _, name in ipairs(redis.call('ZRANGE', KEYS[5], 0, surplus - 1)) do
    redis.call('HDEL', KEYS[4], name)
    redis.call('ZREM', KEYS[3], name)
  end
  redis.call('ZREMRANGEBYRANK', KEYS[5], 0, surplus - 1)
end
for place = at, #ARGV, 2 do
  redis.call('LPUSH', KEYS[6], ARGV[place + 1])
  if ARGV[place] == '1' then
    redis.call('LPUSH', KEYS[7], ARGV[place + 1])
  end
end
for place = 6, 7 do
  redis.call('LTRIM', KEYS[place], 0, tonumber(ARGV[7]) - 1)
end
redis.call('PUBLISH', ARGV[8], ARGV[9] .. ' ' .. revision)
return epoch
