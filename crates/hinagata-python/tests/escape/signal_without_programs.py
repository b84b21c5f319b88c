# Without programs there is nobody to send signals to.
# permissions: read_file
# reason: PermissionError
# alone: seccomp

def attempt(given):
    os.kill(os.getppid(), signal.SIGURG)
