# permissions: read_file, subprocess, http_request
# reason: PermissionError
# alone: seccomp, landlock, namespaces
# reason namespaces: OSError ENETUNREACH, ConnectionRefusedError

def attempt(given):
    return socket.create_connection(("127.0.0.1", given["tcp"]), timeout=5)
