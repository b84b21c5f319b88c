# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
