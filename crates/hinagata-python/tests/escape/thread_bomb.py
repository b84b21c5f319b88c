# time: 20
# reason: RuntimeError
# alone: landlock, namespaces, seccomp

def attempt(given):
    end = threading.Event()
    threads = []
    try:
        for _ in range(100_000):
            threads.append(threading.Thread(target=end.wait))
            threads[-1].start()
        return "100 000 threads"
    finally:
        end.set()
        for thread in threads[:-1]:
            thread.join()
