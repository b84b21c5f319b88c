# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("inotify_init1", 0)
