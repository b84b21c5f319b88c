# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, namespaces, landlock

def attempt(given):
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
