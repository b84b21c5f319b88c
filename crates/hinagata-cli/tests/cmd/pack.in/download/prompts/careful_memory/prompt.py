METADATA = {"version": "1.0.0", "type": "memory_update", "template": "template.md"}

PERMISSIONS = {"read_file": True}


def pre_render(variables, context):
    return variables
