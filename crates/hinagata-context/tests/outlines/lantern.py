#!/usr/bin/env python3
"""Lanterns, and who carries them.

A lantern burns oil. A carrier has any number of lanterns and a route,
which is a list of the places that the carrier visits at night.
"""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterator

ROUTE = {
    "gate": 1,
    "well": 2,
    "mill": 3,
    "bridge": 4,
    "tower": 5,
    "harbour": 6,
}

HELP = '''
def not_a_function():
    a string that looks like code
    and has some lines
    '''


# A decorator that does nothing, but has a comment of several lines above it:
# the first two of them say enough, so that the others are not needed when
# somebody only wants to know what is in the file. These lines are
# folded, because there are
# enough of them.
def quiet(function):
    return function


@dataclasses.dataclass(
    frozen=True,
)
class Lantern:
    """A lantern.

    It burns until its oil is used up.
    """

    owner: str
    oil: int = 100

    @property
    def is_lit(self) -> bool:
        return self.oil > 0

    def burn(
        self,
        hours: int,
        *,
        season: str = "summer",
    ) -> Lantern:
        """Burns some oil.

        More of it in winter.
        """
        needed = hours * 7
        if season == "winter":
            needed *= 2
        return dataclasses.replace(self, oil=max(0, self.oil - needed))

    async def find(self, places: list[str]) -> str | None:
        r"""Looks for it \o/ everywhere."""
        for place in places:
            text = f"{place!r}: {'lit' if self.is_lit else 'dark'}"
# a comment that is indented less than the body
            if text.endswith("lit"):
                return place

        return None

    class Wick:
        length = 3

        def cut(self): self.length -= 1

        def renew(self):
            old = self.length
            self.length = 3
            return old \
                + self.length


try:
    import harbour
except ImportError:
    harbour = None

    def find_harbour() -> None:
        print("there is none")
        print("look again")
        raise SystemExit(1)
else:
    find_harbour = harbour.find


def carry(lanterns: Iterator[Lantern]) -> int:
    def weigh(lantern):
        return 3 + lantern.oil

    total = 0
    for lantern in lanterns:
        total += weigh(lantern)
    return total


if __name__ == "__main__":
    print(carry(iter([Lantern("Ada")])))
