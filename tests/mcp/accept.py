#!/usr/bin/env python3
"""Checks `hina mcp` and `hina serve` with the official Python client, in both eras of the protocol.

  accept.py http  --touch FILE URL
  accept.py stdio --touch FILE -- COMMAND ARGUMENTS...

The server serves a copy of tests/fixtures/mcp. FILE is a prompt.yaml in it that this script makes and removes, to see
that clients are told. Every check is a line; exit code 0: all passed.
"""
import argparse, asyncio, pathlib, sys
import anyio
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.subscriptions import PromptsListChanged

fails = 0

def ok(name, cond, extra=""):
    global fails
    if not cond:
        fails += 1
    print(("ok   " if cond else "FAIL ") + name + (f"  {extra}" if extra else ""))

async def expect_error(coro, code):
    try:
        await coro
    except MCPError as e:
        return e.error.code == code, e.error.code
    return False, "no error"

async def all_prompts(c):
    out, cur, pages = [], None, 0
    while True:
        r = await c.list_prompts(cursor=cur, cache_mode="bypass")
        pages += 1
        out += r.prompts
        cur = r.next_cursor
        if cur is None:
            return out, pages

async def era(target, mode, touch):
    changed = anyio.Event()

    async def on_msg(m):
        if "PromptListChanged" in type(m).__name__ or "PromptListChanged" in type(getattr(m, "root", None)).__name__:
            changed.set()

    async def elicit(ctx, params):
        return types.ElicitResult(action="accept", content={"context": "ELICITED"})

    async with Client(target, mode=mode, message_handler=on_msg, elicitation_callback=elicit, read_timeout_seconds=20) as c:
        pv = c.protocol_version
        t = f"[{mode}/{pv}] "
        caps = c.server_capabilities
        ok(t + "prompts+completions+resources declared", bool(caps.prompts and caps.completions is not None and caps.resources))
        ps, pages = await all_prompts(c)
        names = [p.name for p in ps]
        ok(t + "list: fixtures present, no duplicates", {"test_simple_prompt", "test_prompt_with_arguments"} <= set(names) and len(set(names)) == len(names), f"{len(ps)} prompts, {pages} page(s)")
        e, got = await expect_error(c.list_prompts(cursor="definitely-not-a-cursor"), -32602)
        ok(t + "list: invalid cursor -32602", e, str(got))
        g = await c.get_prompt("test_prompt_with_arguments", {"arg1": "x<1>", "arg2": "日本語"})
        ok(t + "get: args substituted, not escaped", "x<1>" in g.messages[0].content.text and "日本語" in g.messages[0].content.text)
        e, got = await expect_error(c.get_prompt("test_prompt_with_arguments", {"arg1": "x"}), -32602)
        ok(t + "get: missing required argument -32602", e, str(got))
        e, got = await expect_error(c.get_prompt("no_such_prompt"), -32602)
        ok(t + "get: unknown prompt -32602", e, str(got))
        g = await c.get_prompt("test_prompt_with_embedded_resource", {"resourceUri": "test://x"})
        ok(t + "get: embedded resource", any(m.content.type == "resource" and str(m.content.resource.uri) == "test://x" for m in g.messages))
        g = await c.get_prompt("test_prompt_with_image")
        ok(t + "get: image", any(m.content.type == "image" and m.content.mime_type == "image/png" for m in g.messages))
        r = await c.complete(types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments"), {"name": "arg1", "value": "par"})
        ok(t + "complete: values", all(v.startswith("par") for v in r.completion.values) and r.completion.values, str(r.completion.values))
        e, got = await expect_error(c.complete(types.PromptReference(type="ref/prompt", name="no_such_prompt"), {"name": "a", "value": ""}), -32602)
        ok(t + "complete: unknown prompt -32602", e, str(got))
        r = await c.read_resource("test://template/123/data")
        ok(t + "resources: template read", "123" in r.contents[0].text)
        r = await c.read_resource("test://static-binary")
        ok(t + "resources: blob", bool(r.contents[0].blob))
        try:
            await c.read_resource("test://nope")
            ok(t + "resources: not found is an error", False)
        except MCPError as x:
            ok(t + "resources: not found is an error", x.error.code in ((-32602,) if pv >= "2026-07-28" else (-32602, -32002)), str(x.error.code))
        if "test_input_required_result_prompt" in names:
            try:
                g = await c.get_prompt("test_input_required_result_prompt")
                ok(t + "get: elicited input", "ELICITED" in g.messages[0].content.text)
            except MCPError as x:
                ok(t + "get: elicited input (legacy may refuse)", pv < "2026-07-28", f"{x.error.code} {x.error.message}")
        if touch:
            p = pathlib.Path(touch)
            body = "description: comes and goes\nmessages: [{role: user, content: hi}]\n"
            p.parent.mkdir(exist_ok=True)
            async def flip():
                p.unlink() if p.exists() else p.write_text(body)
            got = False
            if pv >= "2026-07-28":
                try:
                    async with c.listen(prompts_list_changed=True) as sub:
                        await flip()
                        with anyio.move_on_after(5):
                            async for ev in sub:
                                if isinstance(ev, PromptsListChanged):
                                    got = True
                                    break
                except TypeError as x:
                    print("listen signature:", x)
            else:
                await anyio.sleep(0.3)
                await flip()
                with anyio.move_on_after(5):
                    await changed.wait()
                    got = True
            ok(t + "list_changed notification", got)
            if p.exists():
                p.unlink()
            await anyio.sleep(0.4)

async def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("transport", choices=["http", "stdio"])
    ap.add_argument("--touch")
    ap.add_argument("target", nargs="+")
    a = ap.parse_args()
    for mode in ("auto", "legacy"):
        target = a.target[0] if a.transport == "http" else StdioServerParameters(command=a.target[0], args=a.target[1:])
        try:
            await era(target, mode, a.touch)
        except BaseException as e:  # noqa
            global fails
            fails += 1
            print(f"FAIL [{mode}] session: {type(e).__name__}: {e}")
            import traceback; traceback.print_exc()
    print("FAILED" if fails else "PASSED", fails)
    sys.exit(1 if fails else 0)

asyncio.run(main())
