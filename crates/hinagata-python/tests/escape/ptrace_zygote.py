# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, landlock

def attempt(given):
    return call("ptrace", 16, os.getppid(), 0, 0)
