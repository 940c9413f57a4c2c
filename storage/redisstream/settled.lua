-- settled ends a step that took outstanding messages, counted under a name. keyed tells whether some had a key, so that others
-- may have become due; before is next_due from before. unleased is for forget.
local function settled(gone, counter, keyed, before, unleased)
  local places = false
  if #gone > 0 then
    forget(gone, unleased)
    count(counter, #gone)
    settle_floor()
    places = freed()
  end
  save_queues()
  save()
  announce_due(before, keyed and next_due() or nil, urgent or places)
end
