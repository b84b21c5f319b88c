# time: 20
# ends: hook protocol
# alone: landlock, namespaces, seccomp

def attempt(given):
    stream().sendall(b"\x10\x00\x00\x00half")
    os._exit(0)
