-- Records a cost under its reference, unless one stands there; returns what stands there then.
-- KEYS: costs, their order. ARGV: reference, cost as JSON, when, costs kept.
local known = redis.call('HGET', KEYS[1], ARGV[1])
if known then
  return known
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
local surplus = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[4])
if surplus > 0 then
  for _, name in ipairs(redis.call('ZRANGE', KEYS[2], 0, surplus - 1)) do
    redis.call('HDEL', KEYS[1], name)
  end
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, surplus - 1)
end
return ARGV[2]
