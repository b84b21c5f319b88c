# Lets the kernel send a signal when something arrives.
# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    import fcntl

    ours, theirs = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, given["engine"])
