# permissions: read_file
# reason: PermissionError
# reason A: FileNotFoundError
# reason C: FileNotFoundError
# reason namespaces: FileNotFoundError
# alone: landlock, namespaces

def attempt(given):
    return open(given["workspace"] + "/sub" + "/.." * 40 + "/etc/passwd").read()
