-- A ledger as of one moment: all of it, or what changed since the revision that the reader knows.
-- KEYS: state, live, order. ARGV: epoch known, revision known.
local state = redis.call('HMGET', KEYS[1], 'epoch', 'revision', 'generation')
local revision = tonumber(state[2] or '0')
if state[1] ~= ARGV[1] or revision < tonumber(ARGV[2]) then
  return {state[1] or '', revision, state[3] or '0', 1, redis.call('HVALS', KEYS[2]), {}}
end
local changed, gone = {}, {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[2], '+inf')) do
  local found = redis.call('HGET', KEYS[2], name)
  if found then
    changed[#changed + 1] = found
  else
    gone[#gone + 1] = name
  end
end
return {state[1], revision, state[3] or '0', 0, changed, gone}
