# permissions: read_file
# time: 60
# ends: hook limit
# alone: landlock, namespaces, seccomp

async def attempt(given):
    while True:
        await given["context"]["read_file"]("a")
