# time: 20
# reason: MemoryError
# alone: landlock, namespaces, seccomp

def attempt(given):
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))
