# permissions: read_file
# reason: PermissionError, FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return open("/proc/self/root/etc/passwd").read()
