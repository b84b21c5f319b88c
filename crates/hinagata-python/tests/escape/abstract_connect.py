# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, landlock, namespaces
# reason namespaces: ConnectionRefusedError

def attempt(given):
    socket.socket(socket.AF_UNIX).connect("\0" + given["abstract"])
    return "connected"
