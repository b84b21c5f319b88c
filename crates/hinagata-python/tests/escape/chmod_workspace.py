# permissions: read_file, subprocess
# reason: PermissionError, OSError EROFS, FileNotFoundError
# alone: seccomp, namespaces

def attempt(given):
    return os.chmod(given["workspace"] + "/secret.txt", 0o777)
