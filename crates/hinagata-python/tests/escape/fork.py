# Forks without having declared subprocess.
# reason: PermissionError
# alone: seccomp

def attempt(given):
    if os.fork() == 0:
        os._exit(0)
