# permissions: read_file, subprocess
# reason: CalledProcessError
# alone: landlock, namespaces

def attempt(given):
    subprocess.check_output(["touch", given["workspace"] + "/new.txt"], stderr=subprocess.DEVNULL)
