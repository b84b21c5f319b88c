# permissions: read_file, subprocess
# reason: PermissionError
# alone: seccomp, landlock

def attempt(given):
    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    room = ctypes.create_string_buffer(8)
    ours = Piece(ctypes.cast(room, ctypes.c_void_p), 8)
    theirs = Piece(id(room), 8)
    return call("process_vm_readv", os.getppid(), ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
