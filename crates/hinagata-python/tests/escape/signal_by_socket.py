# The same by way of the socket.
# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    import fcntl, struct

    ours, theirs = socket.socketpair()
    fcntl.ioctl(ours, 0x8901, struct.pack("i", given["engine"]))
