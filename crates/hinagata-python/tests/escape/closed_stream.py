# time: 20
# ends: hook protocol
# alone: landlock, namespaces, seccomp

def attempt(given):
    os.close(stream().fileno())
    time.sleep(600)
