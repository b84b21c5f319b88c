# permissions: read_file, subprocess
# tiers: A, B
# reason: PermissionError
# alone: landlock

def attempt(given):
    os.kill(os.getppid(), signal.SIGURG)
