# time: 20
# ends: hook protocol
# alone: landlock, namespaces, seccomp

def attempt(given):
    stream().sendall(b"\x05\x00\x00\x00{bad}" * 1000)
    time.sleep(600)
