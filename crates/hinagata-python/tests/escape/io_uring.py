# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("io_uring_setup", 8, ctypes.create_string_buffer(256))
