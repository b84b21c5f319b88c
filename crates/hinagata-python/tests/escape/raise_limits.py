# permissions: read_file, subprocess
# reason: ValueError, PermissionError
# alone: landlock, namespaces, seccomp

def attempt(given):
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
