-- Takes an effect out, or puts it back until later, unless a newer one replaced it meanwhile.
-- An effect is kept as "<version>:<tries>:<JSON>".
-- KEYS: due, effects. ARGV: name, version, and to put it back: its new value, its new time.
local found = redis.call('HGET', KEYS[2], ARGV[1])
if not found or string.match(found, '^%d+') ~= ARGV[2] then
  return 0
end
if ARGV[3] then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
  redis.call('ZADD', KEYS[1], ARGV[4], ARGV[1])
else
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return 1
