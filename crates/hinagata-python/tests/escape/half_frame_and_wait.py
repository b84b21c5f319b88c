# time: 1
# ends: hook_timeout timeout
# alone: landlock, namespaces, seccomp

def attempt(given):
    stream().sendall(b"\x10\x00\x00\x00half")
    time.sleep(600)
