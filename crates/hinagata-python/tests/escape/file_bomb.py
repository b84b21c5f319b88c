# time: 20
# reason: OSError EMFILE
# alone: landlock, namespaces, seccomp

def attempt(given):
    opened = []
    try:
        for _ in range(100_000):
            opened.extend(os.pipe())
        return "200 000 descriptors"
    finally:
        for descriptor in opened:
            os.close(descriptor)
