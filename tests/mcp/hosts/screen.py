"""Types into a program that draws on a whole terminal, and reads its screen."""

import os
import signal
import threading
import time

import pexpect
import pyte

WIDTH, HEIGHT = 160, 50
KEYS = {"enter": "\r", "clear": "\x15", "down": "\x1b[B", "right": "\x1b[C", "space": " "}


class Late(Exception):
    """Something that was waited for did not come in time."""


class Display(pyte.Screen):
    """A screen that takes the sequences of today's hosts: those for the keyboard look like colours."""

    def select_graphic_rendition(self, *attributes, private=False):
        if not private:
            super().select_graphic_rendition(*attributes)


class Screen:
    """One program and its terminal, which is read all the time: a program whose output nobody takes stands still."""

    def __init__(self, command, directory, environment, patience):
        self.patience = patience
        self.display = Display(WIDTH, HEIGHT)
        self.stream = pyte.ByteStream(self.display)
        self.drawn = threading.Condition(threading.RLock())
        self.has_ended = False
        environment = {**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.program = pexpect.spawn(command[0], command[1:], cwd=directory, env=environment, dimensions=(HEIGHT, WIDTH))
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Draws what the program writes, and wakes whoever waits for it."""
        while not self.has_ended:
            try:
                data = self.program.read_nonblocking(65536, timeout=None)
            except (pexpect.EOF, OSError):
                data = b""
            with self.drawn:
                self.has_ended = not data
                self.stream.feed(data)
                self.drawn.notify_all()

    def close(self):
        """Ends the program, with everything that it started."""
        try:
            os.killpg(self.program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.reader.join()
        self.program.close(force=True)

    def lines(self):
        """The lines of the screen that are not empty."""
        with self.drawn:
            return [line.rstrip() for line in self.display.display if line.strip()]

    def show(self):
        """The screen, for a report."""
        return "\n".join(self.lines())

    def wait_for(self, shown, what, patience=None):
        """Waits until the lines of the screen answer `shown` with something true, which is returned."""
        until = time.monotonic() + (patience or self.patience)
        with self.drawn:
            while not (found := shown(self.lines())):
                left = until - time.monotonic()
                if self.has_ended:
                    raise Late(f"the program ended before {what} showed\n{self.show()}")
                if left <= 0:
                    raise Late(f"{what} did not show\n{self.show()}")
                self.drawn.wait(left)
        return found

    def wait_for_text(self, text, patience=None):
        """Waits until a line of the screen has the text."""
        self.wait_for(lambda lines: any(text in line for line in lines), repr(text), patience)

    def write(self, text):
        """Types a text, letter by letter, each after something was drawn: hosts take several at once for pasted."""
        for letter in text:
            with self.drawn:
                self.program.send(letter)
                self.drawn.wait(0.2)

    def press(self, key):
        """Presses one key."""
        self.program.send(KEYS[key])
