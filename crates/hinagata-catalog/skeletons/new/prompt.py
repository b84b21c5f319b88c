METADATA = {
    "name": "TITLE",
    "version": "0.1.0",
    "type": "custom",
    "template": "template.md",
    "description": "What it is for, in one sentence",
    "metadata": {"tags": []},
}

VARIABLES = {
    # The caller, or the agent, has to give these.
    "required": [],
    # These have a default.
    "optional": [
        {"name": "topic", "type": "string", "default": "gardens", "description": "what to write about"},
    ],
    # These are meant to be changed by whoever uses the prompt.
    "custom": [
        {"name": "tone", "type": "string", "default": "friendly"},
    ],
}

# What hooks may use: read_file, http_request, llm_call, session_state, subprocess.
PERMISSIONS = {}

LIMITS = {"max_execution_time": 5, "max_output_size": 50000}

# Hooks run around the template, in a sandbox:
#
# async def pre_render(variables, context):
#     variables["topic"] = variables["topic"].strip()
#     return variables
#
# async def post_render(text, variables, context):
#     return text
