# Numbers of system calls of another mode of the processor are not known.
# permissions: read_file, subprocess
# reason: OSError ENOSYS
# alone: seccomp

def attempt(given):
    result = libc.syscall(0x40000000 + 41, 2, 1, 0)
    return result if result >= 0 else fail()
