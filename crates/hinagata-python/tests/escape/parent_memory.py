# permissions: read_file, subprocess
# reason: PermissionError, FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return open(f"/proc/{given['engine']}/mem", "rb").read(1)
