# A process in namespaces of its own, by the older call and by the newer one.
# permissions: read_file, subprocess
# reason: PermissionError, OSError ENOSYS
# alone: seccomp

def attempt(given):
    try:
        call("clone3", ctypes.create_string_buffer((0x10000000).to_bytes(8, "little") + bytes(80)), 88)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    if call("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        os._exit(0)
