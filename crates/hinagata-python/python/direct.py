"""Runs one job in a new interpreter, over a socket on standard output or over both pipes."""

import_sources_only()
# Hooks must not reach the supervisor's connection to the engine.
reading = os.dup(0)
with open(os.devnull) as nothing:
    os.dup2(nothing.fileno(), 0)
if config["socket"]:
    os.close(reading)
# Text that the hook prints must not mix with the frames.
output = os.dup(1)
os.dup2(2, 1)
sys.stdout.reconfigure(line_buffering=True)
report.listen()
if config.get("parent"):
    Kernel().die_with(config["parent"])
for code in config.get("filter") or ():
    Kernel().filter(Filter.of_hex(code))
serve(Link(socket.socket(fileno=output)) if config["socket"] else PipeLink(reading, output))
