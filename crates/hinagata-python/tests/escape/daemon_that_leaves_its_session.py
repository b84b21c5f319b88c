# Where nothing forbids to leave the session, the leftovers are still found and ended.
# permissions: read_file, subprocess
# time: 20
# reason: done, CalledProcessError
# alone: landlock, namespaces

def attempt(given):
    subprocess.run(["setsid", "--fork", "sleep", given["marker"]], check=True, stderr=subprocess.DEVNULL)
    return "done"
