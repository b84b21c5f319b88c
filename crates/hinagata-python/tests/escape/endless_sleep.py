# permissions: read_file, subprocess
# time: 1
# ends: hook_timeout timeout
# alone: landlock, namespaces, seccomp

def attempt(given):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    time.sleep(600)
