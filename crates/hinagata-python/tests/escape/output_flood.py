# time: 1
# ends: hook_timeout timeout
# alone: landlock, namespaces, seccomp

def attempt(given):
    while True:
        print("x" * 100_000)
