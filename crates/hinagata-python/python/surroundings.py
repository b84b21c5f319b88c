"""Fixes the clock, the time zone and random numbers of a job, so that tests of its hooks repeat.

This replaces functions of the standard library, which a hook can undo: it is for tests and not part of the sandbox.
"""

import time


def zone_rule(name):
    """Returns the value of TZ for a zone: its name, or a rule for an offset such as `+09:00`."""
    if name[:1] not in ("+", "-"):
        return name
    # In rules of POSIX, zones east of Greenwich are negative, and names have no colon.
    return f"<{name.replace(':', '')}>{'-' if name[0] == '+' else '+'}{name[1:]}"


class StandIn(type):
    """The type of classes that stand in for built-in ones, whose instances other modules still make."""

    def __instancecheck__(cls, instance):
        replaced = cls.__dict__.get("replaced")
        return isinstance(instance, replaced) if replaced else type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, other):
        replaced = cls.__dict__.get("replaced")
        return issubclass(other, replaced) if replaced else type.__subclasscheck__(cls, other)


class Surroundings:
    """A clock that stands still, and a seed."""

    def __init__(self):
        self.nanoseconds = 0
        self.seed = 0
        self.bytes = None

    def fix(self, fixed):
        """Sets time, zone and seed for the next job. The first call replaces the functions that return them."""
        import random

        self.nanoseconds, self.seed = fixed["nanoseconds"], fixed["seed"]
        if self.bytes is None:
            self.bytes = random.Random(self.seed)
            self.replace_time()
            self.replace_datetime()
            self.replace_random(random)
        self.bytes.seed(self.seed)
        random.seed(self.seed)
        os.environ["TZ"] = zone_rule(fixed["timezone"])
        if hasattr(time, "tzset"):
            time.tzset()

    def now(self):
        return self.nanoseconds / 1_000_000_000

    def replace_time(self):
        time.time, time.time_ns = self.now, lambda: self.nanoseconds
        for name in ("localtime", "gmtime", "ctime"):
            setattr(time, name, with_default(getattr(time, name), self.now))
        time.asctime = with_default(time.asctime, lambda: time.localtime())
        strftime = time.strftime
        time.strftime = lambda form, when=None: strftime(form, time.localtime() if when is None else when)
        for name, current in (("clock_gettime", self.now), ("clock_gettime_ns", time.time_ns)):
            if hasattr(time, name):
                setattr(time, name, with_real_time(getattr(time, name), current))

    def replace_datetime(self):
        """Replaces the classes by subclasses, because built-in ones cannot be changed."""
        import datetime

        real_date, real_datetime, utc, now = datetime.date, datetime.datetime, datetime.timezone.utc, self.now

        class Date(real_date, metaclass=StandIn):
            replaced = real_date
            today = classmethod(lambda cls: cls.fromtimestamp(now()))

        class DateTime(real_datetime, metaclass=StandIn):
            replaced = real_datetime
            now = classmethod(lambda cls, tz=None: cls.fromtimestamp(now(), tz))
            today = classmethod(lambda cls: cls.fromtimestamp(now()))
            utcnow = classmethod(lambda cls: cls.fromtimestamp(now(), utc).replace(tzinfo=None))
            __repr__ = lambda value: "datetime." + real_datetime.__repr__(value)

        Date.__repr__ = lambda value: "datetime." + real_date.__repr__(value)
        for name, kind in (("date", Date), ("datetime", DateTime)):
            kind.__name__ = kind.__qualname__ = name
            kind.__module__ = "datetime"
            setattr(datetime, name, kind)

    def replace_random(self, random):
        os.urandom = random._urandom = self.bytes.randbytes
        seed = random.Random.seed

        def seed_always(generator, a=None, version=2):
            seed(generator, self.seed if a is None else a, version)

        random.Random.seed = seed_always


def with_default(function, default):
    return lambda when=None: function(default() if when is None else when)


def with_real_time(function, current):
    return lambda clock: current() if clock == time.CLOCK_REALTIME else function(clock)


surroundings = Surroundings()
