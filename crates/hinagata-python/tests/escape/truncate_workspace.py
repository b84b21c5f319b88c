# permissions: read_file, subprocess
# reason: PermissionError, OSError EROFS, FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return os.truncate(given["workspace"] + "/secret.txt", 0)
