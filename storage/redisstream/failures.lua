-- Failures. What is kept about failed attempts of an outstanding message goes with it: a line for each, newest first, of
--   ms when it ended, a space, a tab, number:status:ms it took, a tab, why, a tab, how the answer began
-- An older Postrider wrote one line of the ms, a space, and why; and still reads the first line as that.
local ATTEMPTS_MAX, ATTEMPT_BYTES_MAX = 5, 600 -- as in subscriptions/attempt.go
local EXPIRED = '0:0\tthe ack deadline passed without an answer\t' -- as in subscriptions/reason.go
local failed_members, failed_lines, blocked_args = {}, {}, {}

-- failed notes that an attempt failed, of number 0 if none was spent. why is status:ms it took, and the texts. save_failures
-- writes it.
local function failed(member, at, number, why)
  failed_members[#failed_members + 1] = member
  failed_lines[#failed_lines + 1] = string.format('%.0f \t%.0f:', at, number) .. why
  if number > 0 and key_of(member) then
    blocked_args[#blocked_args + 1], blocked_args[#blocked_args + 2] = at, member
  end
end

local function text_bytes(line)
  local texts = string.match(line, '^%d+ \t[^\t]*\t(.*)$')
  return texts and #texts - 1 or #string.match(line, '^%d+ (.*)$')
end

-- with_older puts a line before older ones, as far as those still have room.
local function with_older(line, older)
  local lines, bytes_ = {line}, text_bytes(line)
  for next_ in string.gmatch(older or '', '[^\n]+') do
    bytes_ = bytes_ + text_bytes(next_)
    if #lines == ATTEMPTS_MAX or bytes_ > ATTEMPT_BYTES_MAX then
      break
    end
    lines[#lines + 1] = next_
  end
  return table.concat(lines, '\n')
end

local function save_failures()
  if #failed_members > 0 then
    local args = {}
    for i, older in ipairs(redis.call('HMGET', FAILURES, unpack(failed_members))) do
      args[#args + 1], args[#args + 2] = failed_members[i], with_older(failed_lines[i], older)
    end
    redis.call('HSET', FAILURES, unpack(args))
    any_failed = true
  end
  if #blocked_args > 0 then
    redis.call('ZADD', BLOCKED, 'NX', unpack(blocked_args))
  end
  failed_members, failed_lines, blocked_args = {}, {}, {}
end
