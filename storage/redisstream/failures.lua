-- Failures. What is kept about failed attempts of an outstanding message goes with it.
local EXPIRED, REFUSED = 'the ack deadline passed without an answer', 'refused by the subscriber' -- as in subscriptions/reason.go
local failed_args, blocked_args = {}, {}

-- failed notes that an attempt failed. save_failures writes it.
local function failed(member, at, reason)
  failed_args[#failed_args + 1] = member
  failed_args[#failed_args + 1] = string.format('%.0f ', at) .. reason
  if key_of(member) then
    blocked_args[#blocked_args + 1], blocked_args[#blocked_args + 2] = at, member
  end
end

local function save_failures()
  if #failed_args > 0 then
    redis.call('HSET', FAILURES, unpack(failed_args))
    any_failed = true
  end
  if #blocked_args > 0 then
    redis.call('ZADD', BLOCKED, 'NX', unpack(blocked_args))
  end
  failed_args, blocked_args = {}, {}
end
