# Kills everything that it can reach. Refuses to where the engine is not out of sight.
# permissions: read_file, subprocess
# tiers: A, C
# reason: ProcessLookupError, PermissionError
# alone: namespaces

def attempt(given):
    try:
        os.kill(given["engine"], 0)
    except ProcessLookupError:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass
    return "refused"
