"""System calls that a process needs to confine itself and that the standard library lacks."""

import ctypes

LANDLOCK_RESTRICT_SELF = 446
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER = 1, 4, 22, 36
SECCOMP_MODE_FILTER = 2


class Filter(ctypes.Structure):
    """`struct sock_fprog`"""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    @classmethod
    def of_hex(cls, text):
        code = ctypes.create_string_buffer(bytes.fromhex(text))
        program = cls(len(text) // 16, ctypes.cast(code, ctypes.c_void_p))
        program.kept = code
        return program


class Kernel:
    """System calls that the standard library lacks."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.syscall.restype = ctypes.c_long

    def check(self, result, what):
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def prctl(self, option, value):
        self.check(self.libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")

    def die_with(self, parent):
        """Asks the kernel to kill this process with its parent, whose process id is `parent` if known.

        The launcher asked for this before, but the kernel forgets it when a program is executed as another user.
        """
        self.prctl(PR_SET_PDEATHSIG, 9)
        if parent is not None and os.getppid() != parent:
            os._exit(1)

    def restrict(self, ruleset):
        self.check(self.libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "Landlock")

    def filter(self, program):
        result = self.libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
        self.check(result, "seccomp")

