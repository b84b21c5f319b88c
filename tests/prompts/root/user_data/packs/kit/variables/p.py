async def provide(context):
    return {"available": True, "text": "sun"}
