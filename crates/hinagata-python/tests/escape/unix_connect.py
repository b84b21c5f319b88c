# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    socket.socket(socket.AF_UNIX).connect(given["unix"])
    return "connected"
