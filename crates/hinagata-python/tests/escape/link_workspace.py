# permissions: read_file, subprocess
# reason: PermissionError, OSError EROFS, FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return os.link(given["workspace"] + "/secret.txt", given["workspace"] + "/hard.txt")
