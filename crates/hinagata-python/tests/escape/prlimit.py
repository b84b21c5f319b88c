# Changes the limits of the zygote.
# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (5, 5))
