# permissions: read_file, subprocess
# time: 20
# reason: BlockingIOError
# alone: landlock, namespaces, seccomp

def attempt(given):
    for _ in range(100_000):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    return "100 000 processes"
