# Programs that go on in the background end with the call.
# permissions: read_file, subprocess
# time: 20
# reason: done
# alone: landlock, namespaces, seccomp

def attempt(given):
    subprocess.run(["sh", "-c", f"(sleep {given['marker']} & sleep {given['marker']} &) & sleep 0"], check=True)
    return "done"
