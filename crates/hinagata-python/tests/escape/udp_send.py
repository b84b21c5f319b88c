# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, namespaces
# reason namespaces: OSError ENETUNREACH

def attempt(given):
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", given["udp"]))
