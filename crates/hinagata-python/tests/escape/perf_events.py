# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp

def attempt(given):
    return call("perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0)
