# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, namespaces, landlock
# reason namespaces: ProcessLookupError

def attempt(given):
    return call("ptrace", 16, given["engine"], 0, 0)
