# permissions: read_file, subprocess
# reason: PermissionError, OSError EROFS, FileNotFoundError
# alone: seccomp, namespaces

def attempt(given):
    return os.setxattr(given["workspace"] + "/secret.txt", "user.x", b"1")
