-- Writes a decision if the lane is still at the revision it was made at; all or nothing.
-- A repeat of the same commit, after an answer that was lost, counts as written.
-- KEYS: state, ended, order, then every other key that is written.
-- ARGV: revision read, name of this commit, new state, runs spoken of, ended candidates kept, event
-- channel, lane, name of the commit read, then the writes: for each the number of its words and the
-- words. Names never come again, revisions do once Redis has lost what it wrote last.
local lane = redis.call('HMGET', KEYS[1], 'revision', 'commit')
local revision = tonumber(lane[1] or '0')
if lane[2] == ARGV[2] then
  return 1
end
if revision ~= tonumber(ARGV[1]) or (lane[2] or '') ~= ARGV[8] then
  return 0
end
revision = revision + 1
redis.call('HSET', KEYS[1], 'revision', revision, 'commit', ARGV[2], 'state', ARGV[3], 'runs', ARGV[4])
local at = 9
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
local surplus = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[5])
if surplus > 0 then
  for _, name in ipairs(redis.call('ZRANGE', KEYS[3], 0, surplus - 1)) do
    redis.call('HDEL', KEYS[2], name)
  end
  redis.call('ZREMRANGEBYRANK', KEYS[3], 0, surplus - 1)
end
redis.call('PUBLISH', ARGV[6], ARGV[7] .. ' ' .. revision)
return 1
