# permissions: read_file, subprocess
# reason: PermissionError, FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return open(f"/proc/{os.getppid()}/mem", "rb").read(1)
