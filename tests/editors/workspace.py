"""The workspace that editors open in the tests: prompts in both languages, a partial of two prompts, an approved pack."""

import os
import subprocess

FILES = {
    "hinagata.toml": "",
    "user_data/shared/prompts/support/template.md": """---
parameters:
  agent_name:
    type: string
    required: true
    description: Who answers
  ticket:
    type: object
    required: true
    schema:
      type: object
      properties:
        title: {type: string}
        tags: {type: array, items: {type: string}}
  orders:
    type: list
    schema:
      type: array
      items:
        type: object
        properties: {number: {type: integer}, place: {type: string}}
---
{% import "partials/forms.md" as forms %}
{% extends "partials/base.md" %}
{% block main %}
😀 You are {{ agent_name }}.
{{ ticket.title|upper }}
{% for order in orders %}
- {{ order.number }}
{% endfor %}
{% include "partials/greeting.md" %}
{{ forms.field("name", 3) }}
{% include "partials/closing.gotmpl" %}
{% endblock %}
""",
    "user_data/shared/prompts/sales/template.md": """---
parameters:
  agent_name: {type: string, required: true}
---
{% include "partials/greeting.md" %}
{% include "partials/signature.md" %}
""",
    "user_data/shared/prompts/support/tests/first.yaml": '''vars: {agent_name: Rumi, ticket: {title: It burns, tags: [a]}}
tests:
  - name: urgent
    assert: [{contains: Rumi}]
  - name: other
    vars: {agent_name: Nobody}
    assert: [{contains: Nobody}]
''',
    "user_data/shared/prompts/hidden/template.md": """---
parameters:
  token: {type: string, required: true, secret: true}
---
{% if token %}Ready{% endif %}
""",
    "user_data/shared/prompts/hidden/tests/first.yaml": "tests: [{name: one, vars: {token: hunter2}, assert: [{contains: Ready}]}]\n",
    "user_data/shared/prompts/computed/template.md": """---
parameters:
  topic: {type: string, required: true}
---
{{ variables["topic"] }} {{ topic }}
""",
    "user_data/shared/prompts/messages/prompt.yaml": """parameters:
  city: {type: string, required: true}
messages:
  - role: system
    content: >
      Speak of
      {{ city }} and
      {{ citty }}.
  - role: user
    content: "caf\\u00e9 {{ city|uper }}"
""",
    "user_data/shared/prompts/literal/prompt.py": '''METADATA = {"name": "literal", "prompt": (
    "One {{ a }} "
    'two {{ bb }}'
)}
VARIABLES = {"required": [{"name": "a", "type": "string"}]}
''',
    "user_data/shared/prompts/partials/base.md": "Top\n{% block main %}{% endblock %}\n",
    "user_data/shared/prompts/partials/greeting.md": "Hello from {{ agent_name }}.\n",
    "user_data/shared/prompts/partials/forms.md": "{% macro field(label, size=10) %}{{ label }}{{ size }}{% endmacro %}\n",
    "user_data/shared/prompts/partials/closing.gotmpl": "{{ range .orders }}{{ .place }}{{ end }}Bye, {{ .agent_name }}\n",
    "user_data/packs/letters/pack.json": '{"pack_id": "letters", "name": "Letters", "version": "1.0.0"}\n',
    "user_data/packs/letters/prompts/partials/signature.md": "-- {{ agent_name }}\n",
}


def write_workspace(root, hina):
    """Writes the files beneath `root` and approves the pack."""
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    subprocess.run([hina, "--root", root, "pack", "approve", "letters", "--yes"], check=True, stdout=subprocess.DEVNULL)
    return root


def hide_user(scratch):
    """What the user of this machine has is not looked at."""
    for name in ["HINAGATA_STATE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"]:
        os.environ[name] = f"{scratch}/{name.lower()}"
