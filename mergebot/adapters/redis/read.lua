-- A lane as of one moment: its revision and state, the open candidates one per line, and the runs
-- that they or its health speak of. The workers belong to no lane.
-- KEYS: state, open, workers. ARGV: what the key of a run starts with.
local lane = redis.call('HMGET', KEYS[1], 'revision', 'state', 'runs', 'commit')
local runs = {}
for run in string.gmatch(lane[3] or '', '%S+') do
  local found = redis.call('HMGET', ARGV[1] .. run, 'order', 'progress', 'result', 'ended_at')
  if found[1] then
    runs[#runs + 1] = {run, found[1], found[2], found[3], found[4]}
  end
end
return {lane[1], lane[2], table.concat(redis.call('HVALS', KEYS[2]), '\n'), runs, redis.call('HVALS', KEYS[3]), lane[4]}
