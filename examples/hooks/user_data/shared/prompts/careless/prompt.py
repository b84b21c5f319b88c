METADATA = {"name": "Careless"}
TEMPLATE = "{{ secret }}"


def secret(place):
    with open(place + "/CHANGES.txt") as file:
        return file.read()


def pre_render(variables, context):
    variables["secret"] = secret(context["workspace_path"])
