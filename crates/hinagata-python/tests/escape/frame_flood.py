# time: 20
# ends: hook limit
# alone: landlock, namespaces, seccomp

def attempt(given):
    stream().sendall(b"\xff\xff\xff\x7f" + b"x" * (1 << 20))
    time.sleep(600)
