# A program that a hook starts is as confined as the hook.
# permissions: read_file, subprocess
# reason: CalledProcessError
# alone: landlock, namespaces

def attempt(given):
    return subprocess.check_output(["cat", "/etc/passwd"], stderr=subprocess.DEVNULL)
