"""Runs one job in an interpreter of its own, over a socket that is the output or over both pipes."""

import_sources_only()
# The way of the supervisor to the engine is not for hooks.
reading = os.dup(0)
with open(os.devnull) as nothing:
    os.dup2(nothing.fileno(), 0)
if config["socket"]:
    os.close(reading)
# What the hook prints must not get between the frames.
output = os.dup(1)
os.dup2(2, 1)
sys.stdout.reconfigure(line_buffering=True)
report.listen()
if config.get("parent"):
    Kernel().die_with(config["parent"])
for code in config.get("filter") or ():
    Kernel().filter(Filter.of_hex(code))
serve(Link(socket.socket(fileno=output)) if config["socket"] else PipeLink(reading, output))
