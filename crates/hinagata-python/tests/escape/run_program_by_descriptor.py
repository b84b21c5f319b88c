# Executes a file by its descriptor without having declared subprocess.
# permissions: read_file
# reason: PermissionError
# alone: seccomp, landlock

def attempt(given):
    descriptor = os.open(sys.executable, os.O_RDONLY)
    os.execve(descriptor, ["python"], {})
