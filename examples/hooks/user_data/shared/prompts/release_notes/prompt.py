METADATA = {"name": "Release notes", "description": "Describes what changed"}
PERMISSIONS = {"read_file": True}
VARIABLES = {
    "required": [],
    "optional": [{"name": "kind", "type": "string", "default": "fix"}],
    "custom": [{"name": "changes", "type": "list", "default": []}],
}
TEMPLATE = """\
Write release notes for these changes:
{% for change in changes %}
- {{ change }}
{% endfor %}"""


async def pre_render(variables, context):
    text = await context["read_file"]("CHANGES.txt")
    start = variables["kind"] + ": "
    variables["changes"] = [line[len(start):] for line in text.splitlines() if line.startswith(start)]
    print(len(variables["changes"]), "changes")


def post_render(text, variables, context):
    return text.strip()
