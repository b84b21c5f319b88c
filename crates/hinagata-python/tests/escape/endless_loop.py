# time: 1
# ends: hook_timeout timeout
# alone: landlock, namespaces, seccomp

def attempt(given):
    while True:
        pass
