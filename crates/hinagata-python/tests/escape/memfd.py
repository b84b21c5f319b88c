# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return os.memfd_create("program")
