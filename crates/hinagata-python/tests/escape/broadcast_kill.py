# Kills everything that it can reach. Must not run where others can be reached.
# permissions: read_file, subprocess
# tiers: A, C
# reason: ProcessLookupError, PermissionError
# alone: namespaces

def attempt(given):
    os.kill(-1, signal.SIGKILL)
