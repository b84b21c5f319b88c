# permissions: read_file, subprocess
# reason: PermissionError, OSError EROFS, FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return open(given["workspace"] + "/secret.txt", "r+").write("x")
