"""A coroutine that is begun without a task ends as one that has a task of its own."""

from __future__ import annotations

import asyncio

import pytest

from streams.agents.started_coroutine import Begun


def test_what_waits_for_nothing_is_done_at_once() -> None:
    async def seven() -> int:
        return 7

    begun = Begun(seven())
    assert (begun.done, begun.result) == (True, 7)


def test_what_waits_goes_on_where_it_was() -> None:
    async def run() -> tuple[bool, list[str]]:
        said, gate = list[str](), asyncio.Event()

        async def through() -> str:
            said.append("before")
            await gate.wait()
            await asyncio.sleep(0)
            said.append("behind")
            return "end"

        begun = Begun(through())
        waiting = asyncio.ensure_future(begun.rest())
        await asyncio.sleep(0)
        assert said == ["before"]
        gate.set()
        said.append(await waiting)
        return begun.done, said

    assert asyncio.run(run()) == (False, ["before", "behind", "end"])


def test_who_is_cancelled_cancels_it() -> None:
    async def run() -> list[str]:
        said, begun_ = list[str](), asyncio.Event()

        async def waits() -> None:
            try:
                await begun_.wait()
            finally:
                said.append("cancelled")

        waiting = asyncio.ensure_future(Begun(waits()).rest())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return said

    assert asyncio.run(run()) == ["cancelled"]


def test_an_error_is_raised_where_it_is_begun_or_waited_for() -> None:
    async def run() -> None:
        async def fails(at_once: bool) -> None:
            if not at_once:
                await asyncio.sleep(0)
            raise KeyError("no")

        with pytest.raises(KeyError):
            Begun(fails(True))
        with pytest.raises(KeyError):
            await Begun(fails(False)).rest()

    asyncio.run(run())
