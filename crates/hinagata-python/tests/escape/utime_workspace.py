# permissions: read_file, subprocess
# reason: PermissionError, OSError EROFS, FileNotFoundError
# alone: seccomp, namespaces

def attempt(given):
    return os.utime(given["workspace"] + "/secret.txt", (0, 0))
