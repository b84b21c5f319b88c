-- What a person does in Neovim, without a screen: open, see findings, complete, go to a definition, rename.
-- `nvim --headless --clean -n -S neovim.lua`, with WORKSPACE and HINA in the environment.
local root, hina = vim.env.WORKSPACE, vim.env.HINA
local prompts = root .. '/user_data/shared/prompts/'
local failures = 0

local function check(name, action)
  local fine, message = pcall(action)
  io.stdout:write('\n' .. (fine and 'ok   ' or 'FAIL ') .. 'neovim ' .. name .. (fine and '' or ': ' .. tostring(message)) .. '\n')
  if not fine then
    failures = failures + 1
  end
end

-- Waits for a condition; the editor handles messages meanwhile.
local function wait_for(what, condition)
  assert(vim.wait(20000, condition, 20), 'timed out: ' .. what)
end

local function open(path)
  vim.cmd('edit! ' .. prompts .. path)
  local client = vim.lsp.start_client({ name = 'hina', cmd = { hina, 'lsp' }, root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = 'workspace' } } })
  vim.lsp.buf_attach_client(0, client)
  wait_for('the server', function()
    local started = vim.lsp.get_client_by_id(client)
    return started and started.server_capabilities and started.server_capabilities.hoverProvider
  end)
  return vim.api.nvim_get_current_buf(), client
end

local function place_cursor(pattern, inside)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  assert(vim.fn.search(pattern, 'cW') > 0, 'not found: ' .. pattern)
  local at = vim.api.nvim_win_get_cursor(0)
  vim.api.nvim_win_set_cursor(0, { at[1], at[2] + (inside or 0) })
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
  for _, answer in pairs(answers or {}) do
    -- Versions name it differently.
    return answer.result, answer.err or answer.error
  end
  error('no answer to ' .. method)
end

local opened, buffer = pcall(open, 'support/template.md')
if not opened then
  io.stdout:write('FAIL neovim starts the server: ' .. tostring(buffer) .. '\n')
  vim.cmd('cquit!')
end

check('shows a finding while typing', function()
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  for number, line in ipairs(lines) do
    if line:find('ticket.title', 1, true) then
      vim.api.nvim_buf_set_lines(buffer, number - 1, number, false, { '{{ ticket.titel|upper }}' })
    end
  end
  wait_for('a finding', function()
    return #vim.diagnostic.get(buffer) == 1
  end)
  local found = vim.diagnostic.get(buffer)[1]
  assert(found.code == 'type.path' or (found.user_data and found.user_data.lsp.code == 'type.path'), vim.inspect(found))
  vim.cmd('silent undo')
  wait_for('no finding', function()
    return #vim.diagnostic.get(buffer) == 0
  end)
end)

check('completes inside of a broken tag', function()
  vim.api.nvim_buf_set_lines(buffer, -1, -1, false, { '{{ ticket.' })
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })
  vim.cmd('startinsert!')
  local params = vim.lsp.util.make_position_params()
  params.position.character = 10
  params.position.line = vim.api.nvim_buf_line_count(0) - 1
  local found = ask('textDocument/completion', params)
  local labels = vim.tbl_map(function(item)
    return item.label
  end, found.items)
  assert(vim.tbl_contains(labels, 'title') and vim.tbl_contains(labels, 'tags'), vim.inspect(labels))
  vim.cmd('stopinsert')
  vim.api.nvim_buf_set_lines(buffer, -2, -1, false, {})
end)

check('goes to a definition of another language', function()
  vim.cmd('edit! ' .. prompts .. 'partials/closing.gotmpl')
  local client = vim.lsp.get_active_clients()[1]
  vim.lsp.buf_attach_client(0, client.id)
  place_cursor('agent_name', 2)
  vim.lsp.buf.definition()
  wait_for('the jump', function()
    return vim.api.nvim_buf_get_name(0):find('support/template.md', 1, true) ~= nil
  end)
  assert(vim.api.nvim_win_get_cursor(0)[1] == 3, vim.inspect(vim.api.nvim_win_get_cursor(0)))
end)

check('goes to a file of a pack', function()
  vim.cmd('edit! ' .. prompts .. 'sales/template.md')
  vim.lsp.buf_attach_client(0, vim.lsp.get_active_clients()[1].id)
  place_cursor('partials/signature', 3)
  vim.lsp.buf.definition()
  wait_for('the jump', function()
    return vim.api.nvim_buf_get_name(0):find('letters/prompts/partials/signature.md', 1, true) ~= nil
  end)
end)

check('renames a parameter', function()
  vim.cmd('edit! ' .. prompts .. 'support/template.md')
  vim.lsp.buf_attach_client(0, vim.lsp.get_active_clients()[1].id)
  place_cursor('ticket\\.title', 1)
  vim.lsp.buf.rename('issue')
  wait_for('the new name', function()
    return vim.fn.search('issue.title', 'nw') > 0
  end)
  assert(vim.fn.search('^  issue:', 'nw') > 0, 'the declaration keeps its name')
  vim.cmd('edit!')
end)

check('refuses to rename what is read by a computed name', function()
  vim.cmd('edit! ' .. prompts .. 'computed/template.md')
  vim.lsp.buf_attach_client(0, vim.lsp.get_active_clients()[1].id)
  place_cursor('topic }}', 1)
  local params = vim.lsp.util.make_position_params()
  params.newName = 'subject'
  local result, err = ask('textDocument/rename', params)
  assert(result == nil and err.message:find('all variables as one value', 1, true), vim.inspect(err))
end)

check('ends with the editor', function()
  local client = vim.lsp.get_active_clients()[1]
  client.stop()
  wait_for('the end', function()
    return client.is_stopped()
  end)
end)

vim.cmd(failures > 0 and 'cquit!' or 'qall!')
