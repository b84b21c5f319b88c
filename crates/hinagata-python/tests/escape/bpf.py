# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("bpf", 0, ctypes.create_string_buffer(128), 128)
