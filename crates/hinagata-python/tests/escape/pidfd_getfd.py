# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, landlock

def attempt(given):
    return call("pidfd_getfd", os.pidfd_open(os.getppid()), 0, 0)
