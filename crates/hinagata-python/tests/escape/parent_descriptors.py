# permissions: read_file, subprocess
# reason: PermissionError, FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return os.listdir(f"/proc/{given['engine']}/fd")
