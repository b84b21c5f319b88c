# Leaves its session, to outlive the call.
# permissions: read_file, subprocess
# time: 20
# reason: PermissionError
# alone: seccomp

def attempt(given):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.setsid()
            os.write(writing, b"left")
        except PermissionError:
            os.write(writing, b"refused")
        os._exit(0)
    if os.read(reading, 16) == b"refused":
        raise PermissionError("setsid")
