# Runs a program without having declared subprocess.
# permissions: read_file
# reason: PermissionError
# alone: seccomp, landlock

def attempt(given):
    return subprocess.run(["true"]).returncode
