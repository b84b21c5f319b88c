# Looks for descriptors beside its streams and the loop.
# permissions: read_file, subprocess
# reason: none
# alone: landlock, namespaces, seccomp

def attempt(given):
    known = {0, 1, 2} | {loop_socket.fileno() for loop_socket in open_sockets()}
    for descriptor in range(256):
        if descriptor not in known:
            try:
                os.fstat(descriptor)
            except OSError:
                continue
            return descriptor
    return "none"
