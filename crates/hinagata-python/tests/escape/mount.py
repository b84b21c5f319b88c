# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None)
