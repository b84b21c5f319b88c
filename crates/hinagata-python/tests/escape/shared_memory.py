# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("shmget", 0x48494e41, 4096, 0o1666)
