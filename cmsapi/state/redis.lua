-- The operations of a store in Redis, each of them atomic. All keys of a call begin with KEYS[1]: `cmsapi:{scope}` for
-- launches, `cmsapi:{digest of the key}` for the limits.
--
--   launch:<id>     a launch                          items:<batch>  launch by item
--   status:<word>   launches with a status, by time   places:<id>    batch and item of each item of a launch
--   open            open launch by kind and target    batches        names of batches
--   jobs            number of polled jobs by kind     requests       requests by when they stop counting
--   durations       what was learned, by kind         pause          when the next request may leave

local operations = {}
local is_open = {sending = true, running = true, review = true}
local is_polled = {sending = true, running = true}

local function key(...)
  return table.concat({KEYS[1], ...}, ':')
end

-- By default Lua prints 14 digits of a number, and Redis returns only the integer part of a number to the caller.
local function text(number)
  return string.format('%.17g', number)
end

local function time()
  local now = redis.call('TIME')
  return now[1] + now[2] / 1e6
end

local function pair(first, second)
  return cjson.encode({first, second})
end

local function find(id)
  local found = redis.call('HMGET', key('launch', id), 'kind', 'target', 'status', 'attempt', 'created')
  if found[1] then
    return {id = id, kind = found[1], target = found[2], status = found[3], attempt = found[4], created = found[5]}
  end
end

local function enter(launch)
  redis.call('ZADD', key('status', launch.status), launch.created, launch.id)
  if is_open[launch.status] then
    redis.call('HSET', key('open'), pair(launch.kind, launch.target), launch.id)
  end
  if is_polled[launch.status] then
    redis.call('HINCRBY', key('jobs'), launch.kind, 1)
  end
end

local function leave(launch)
  redis.call('ZREM', key('status', launch.status), launch.id)
  if is_open[launch.status] then
    redis.call('HDEL', key('open'), pair(launch.kind, launch.target))
  end
  if is_polled[launch.status] then
    redis.call('HINCRBY', key('jobs'), launch.kind, -1)
  end
end

local function remove_item(batch, item)
  redis.call('HDEL', key('items', batch), item)
  if redis.call('EXISTS', key('items', batch)) == 0 then
    redis.call('SREM', key('batches'), batch)
  end
end

local function delete(launch)
  leave(launch)
  for _, place in ipairs(redis.call('SMEMBERS', key('places', launch.id))) do
    remove_item(unpack(cjson.decode(place)))
  end
  redis.call('DEL', key('launch', launch.id), key('places', launch.id))
end

local function delete_unused(launch)
  if not is_open[launch.status] and redis.call('SCARD', key('places', launch.id)) == 0 then
    delete(launch)
  end
end

local function add_item(batch, item, id)
  local before = redis.call('HGET', key('items', batch), item)
  if before then
    redis.call('SREM', key('places', before), pair(batch, item))
  end
  redis.call('HSET', key('items', batch), item, id)
  redis.call('SADD', key('places', id), pair(batch, item))
  redis.call('SADD', key('batches'), batch)
end

-- Write the fields and values in ARGV from `first` on; a minus before a name deletes the field.
local function write(id, first)
  for index = first, #ARGV, 2 do
    if string.sub(ARGV[index], 1, 1) == '-' then
      redis.call('HDEL', key('launch', id), string.sub(ARGV[index], 2))
    else
      redis.call('HSET', key('launch', id), ARGV[index], ARGV[index + 1])
    end
  end
end

-- Return the time, and for each launch its key in `ids`, its id and its fields.
local function read(ids)
  local answer = {text(time())}
  for name, id in pairs(ids) do
    local fields = redis.call('HGETALL', key('launch', id))
    if #fields > 0 then
      table.insert(answer, {tostring(name), id, fields})
    end
  end
  return answer
end

function operations.insert(id, kind, target, deadline, in_batch, batch, item)
  local of_item = in_batch == '1' and redis.call('HGET', key('items', batch), item)
  local there = of_item or redis.call('HGET', key('open'), pair(kind, target))
  if there then
    return read({there})
  end
  local now = time()
  redis.call('HSET', key('launch', id), 'created', text(now), 'deadline', text(now + deadline))
  write(id, 9)
  enter(find(id))
  if in_batch == '1' then
    add_item(batch, item, id)
  end
  return read({})
end

function operations.get(id)
  return read({id})
end

function operations.find(kind, target)
  return read({redis.call('HGET', key('open'), pair(kind, target)) or nil})
end

function operations.rows()
  local ids = {}
  for index = 2, #ARGV do
    for _, id in ipairs(redis.call('ZRANGE', key('status', ARGV[index]), 0, -1)) do
      table.insert(ids, id)
    end
  end
  return read(ids)
end

function operations.items(batch)
  local ids, found = {}, redis.call('HGETALL', key('items', batch))
  for index = 1, #found, 2 do
    ids[found[index]] = found[index + 1]
  end
  return read(ids)
end

function operations.update(id, status, attempt, new_status, deadline)
  local launch = find(id)
  if not launch or launch.status ~= status or launch.attempt ~= attempt then
    return 0
  end
  if new_status ~= '' and new_status ~= status then
    local opens = is_open[new_status] and not is_open[status]
    if opens and redis.call('HEXISTS', key('open'), pair(launch.kind, launch.target)) == 1 then
      return 0
    end
    leave(launch)
    launch.status = new_status
    enter(launch)
  end
  write(id, 7)
  if deadline ~= '' then
    redis.call('HSET', key('launch', id), 'deadline', text(time() + deadline))
  end
  if new_status == 'succeeded' or new_status == 'failed' then
    delete_unused(launch)
  end
  return 1
end

function operations.delete()
  for index = 2, #ARGV do
    local launch = find(ARGV[index])
    if launch then
      delete(launch)
    end
  end
end

operations.add_item = add_item

function operations.drop_items(batch)
  for index = 3, #ARGV do
    local id = redis.call('HGET', key('items', batch), ARGV[index])
    if id then
      redis.call('SREM', key('places', id), pair(batch, ARGV[index]))
      remove_item(batch, ARGV[index])
      local launch = find(id)
      if launch then
        delete_unused(launch)
      end
    end
  end
end

-- Return the batch and the status of each item.
function operations.batches()
  local answer = {}
  for _, batch in ipairs(redis.call('SMEMBERS', key('batches'))) do
    for _, id in ipairs(redis.call('HVALS', key('items', batch))) do
      table.insert(answer, {batch, redis.call('HGET', key('launch', id), 'status')})
    end
  end
  return answer
end

function operations.take(id, per_second, per_hour, seconds, second, hour)
  local requests, now = key('requests'), time()
  per_second, per_hour = tonumber(per_second), tonumber(per_hour)
  redis.call('ZREMRANGEBYSCORE', requests, '-inf', text(now))
  -- Requests taken while the clock was ahead count as taken now.
  local latest = now + seconds + hour
  for _, each in ipairs(redis.call('ZRANGEBYSCORE', requests, '(' .. text(latest), '+inf')) do
    redis.call('ZADD', requests, text(latest), each)
  end
  local pause = tonumber(redis.call('GET', key('pause')) or 0)
  if pause > latest then
    pause = latest
    redis.call('SET', key('pause'), text(pause))
  end
  local wait = math.max(0, pause - now)
  local used = redis.call('ZCARD', requests)
  local function wait_for(rank, early, most)
    local back = redis.call('ZRANGE', requests, rank, rank, 'WITHSCORES')[2] or (now + hour)
    wait = math.max(wait, math.min(most, back - early - now))
  end
  if used >= per_hour then
    wait_for(used - per_hour, 0, math.huge)
  end
  if redis.call('ZCOUNT', requests, '(' .. text(now + hour - second), '+inf') >= per_second then
    -- Requests under way are usually answered long before their time limit.
    wait_for(used - per_second, hour - second, tonumber(second))
  end
  if wait == 0 then
    redis.call('ZADD', requests, text(latest), id)
  end
  return {text(wait), used}
end

function operations.answered(id, departed, pause, hour)
  local requests, now = key('requests'), time()
  if departed == '1' then
    redis.call('ZADD', requests, text(now + hour), id)
  else
    redis.call('ZREM', requests, id)
  end
  if now + pause > tonumber(redis.call('GET', key('pause')) or 0) then
    redis.call('SET', key('pause'), text(now + pause))
  end
  return redis.call('ZCOUNT', requests, '(' .. text(now), text(now + hour))
end

-- Lists of any length are read from ARGV: a Lua function takes at most a few thousand arguments.
return operations[ARGV[1]](ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8])
