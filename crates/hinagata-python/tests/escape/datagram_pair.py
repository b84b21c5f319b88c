# An end of a pair of datagram sockets could be turned to a socket of somebody else.
# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
