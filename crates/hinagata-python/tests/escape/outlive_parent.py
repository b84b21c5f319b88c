# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("prctl", 1, 0, 0, 0, 0)
