# Looks for anything of the engine in its own environment.
# permissions: read_file, subprocess
# reason: KeyError
# alone: landlock, namespaces, seccomp

def attempt(given):
    return os.environ["CARGO_MANIFEST_DIR"]
