# permissions: read_file, subprocess
# reason: PermissionError, OSError EROFS, FileNotFoundError
# alone: seccomp, namespaces

def attempt(given):
    return os.chown(given["workspace"] + "/secret.txt", os.getuid(), os.getgid())
