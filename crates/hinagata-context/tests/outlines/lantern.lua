-- Lanterns.
local M = {}

--[==[ A comment over lines,
function not_a_function()
  with ]] in it
end
]==]

M.route = { "gate", "well", "mill" }

local help = [[
usage: lantern {
  function not_a_function_either()
  end
]]

--- Makes a lantern.
-- @param owner whose it is
function M.new(owner)
  local self = { owner = owner, oil = 100 }
  self.text = 'it\'s ' .. "a \"lantern\" end"
  return setmetatable(self, M)
end

function M:burn(hours)
  if hours > 3 then
    error(help)
  end
  self.oil = self.oil - hours * 7
end

local function weigh(lantern) return lantern.oil end

M.find = function(place)
  for index, name in ipairs(M.route) do
    if name == place then return index end
  end
end

M.visitors = {
  count = 0,
  gate = function(lantern)
    lantern:burn(1)
    lantern:burn(2)
    return weigh(lantern)
  end,
  well = function() end,
}

return M
