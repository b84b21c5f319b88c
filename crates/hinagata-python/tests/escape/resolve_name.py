# permissions: read_file, subprocess
# reason: gaierror
# alone: seccomp, namespaces

def attempt(given):
    return socket.getaddrinfo("example.com", 80)
