# Looks at the workspace without having declared read_file. Landlock alone does not hide sizes and times.
# tiers: A, C
# reason: FileNotFoundError
# alone: namespaces

def attempt(given):
    return os.stat(given["workspace"] + "/secret.txt").st_size
