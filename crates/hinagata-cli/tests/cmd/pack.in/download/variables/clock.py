def provide(context):
    return {"now": 1}
