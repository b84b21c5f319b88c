# permissions: read_file, subprocess
# reason: FileNotFoundError, PermissionError, OSError EROFS
# alone: landlock, namespaces

def attempt(given):
    import tempfile

    return tempfile.NamedTemporaryFile()
