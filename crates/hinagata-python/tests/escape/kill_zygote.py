# The first process of a namespace cannot be killed from inside; Landlock refuses to try.
# permissions: read_file, subprocess
# reason: PermissionError, AssertionError
# alone: landlock, namespaces

def attempt(given):
    zygote = os.getppid()
    os.kill(zygote, signal.SIGKILL)
    os.kill(zygote, 0)
    assert os.getppid() != zygote, "the zygote is still there"
