# permissions: read_file, subprocess
# reason: PermissionError
# reason A: FileNotFoundError
# reason C: FileNotFoundError
# reason namespaces: FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return open("/etc/passwd").read()
