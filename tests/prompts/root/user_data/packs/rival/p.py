def provide(context):
    return {}
