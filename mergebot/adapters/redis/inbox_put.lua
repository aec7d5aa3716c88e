-- Keeps a delivery unless its GUID was kept lately.
-- KEYS: stream, mark of the GUID. ARGV: guid, event, body, seconds to keep the mark.
if redis.call('EXISTS', KEYS[2]) == 1 then
  return 0
end
redis.call('XADD', KEYS[1], '*', 'guid', ARGV[1], 'event', ARGV[2], 'body', ARGV[3])
redis.call('SET', KEYS[2], '1', 'EX', ARGV[4])
return 1
