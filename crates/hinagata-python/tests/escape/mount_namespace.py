# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("unshare", 0x00020000)
