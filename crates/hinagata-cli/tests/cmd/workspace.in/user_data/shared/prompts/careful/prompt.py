METADATA = {
    "version": "3.1.0",
    "type": "system",
    "extends": "greeting",
    "template": None,
}

VARIABLES = {
    "required": [{"name": "files", "type": "list", "description": "what to look at"}],
    "optional": [{"name": "date", "type": "string", "source": "system"}],
    "custom": [{"name": "token", "type": "string", "default": "hidden", "secret": True}],
}

PERMISSIONS = {"read_file": True, "http_request": False}

LIMITS = {"max_execution_time": 2, "max_output_size": 1000}


async def pre_render(variables, context):
    return variables


def post_render(text, variables, context):
    return text
