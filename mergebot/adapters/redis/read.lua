-- A lane as of one moment: its revision and state, the open candidates one per line, and the runs
-- that they or its health speak of. The workers belong to no lane; for each there is what the lane's
-- gates asked for of its cores, newest first.
-- The candidates are left out where the reader has those of this very commit.
-- KEYS: state, open, workers. ARGV: what the keys of a run, and of what gates asked for, start with,
-- and the commit that the reader knows.
local lane = redis.call('HMGET', KEYS[1], 'revision', 'state', 'runs', 'commit')
local runs = {}
for run in string.gmatch(lane[3] or '', '%S+') do
  local found = redis.call('HMGET', ARGV[1] .. run, 'order', 'progress', 'result', 'ended_at')
  if found[1] then
    runs[#runs + 1] = {run, found[1], found[2], found[3], found[4]}
  end
end
local workers = redis.call('HVALS', KEYS[3])
local asks = {}
for number, worker in ipairs(workers) do
  local cores = string.match(worker, '^%S+ %S+ %S+ (%S+)')
  asks[number] = cores and redis.call('LRANGE', ARGV[2] .. cores, 0, -1) or {}
end
local queue = false
if not lane[4] or lane[4] ~= ARGV[3] then
  queue = table.concat(redis.call('HVALS', KEYS[2]), '\n')
end
return {lane[1], lane[2], queue, runs, workers, lane[4], asks}
