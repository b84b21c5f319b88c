# permissions: read_file, subprocess
# reason: PermissionError
# reason A: ProcessLookupError
# reason C: ProcessLookupError
# alone: landlock, namespaces
# reason namespaces: ProcessLookupError

def attempt(given):
    os.kill(given["engine"], signal.SIGURG)
