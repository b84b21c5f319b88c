# Reads another prompt, which lies beside its own.
# reason: PermissionError
# reason C: FileNotFoundError
# reason namespaces: FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return open(given["other"] + "/prompt.py").read()
