-- For scripts that read entries of the log and look at no subscription's redriven messages.
local letters = {}
