# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, landlock

def attempt(given):
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener.getsockname()
