# Walks the workspace without having declared read_file.
# reason: PermissionError
# reason A: FileNotFoundError
# reason C: FileNotFoundError
# reason namespaces: FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    def fail(error):
        raise error

    return list(os.walk(given["workspace"], onerror=fail))
