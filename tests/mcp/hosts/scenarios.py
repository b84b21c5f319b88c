"""What a user does in a host, and what the model must get then: one function for each scenario, the same for all hosts.

A scenario works with a trial: `ask` enters a command and returns what the model was sent for it, `check` counts a result.
The prompts are in workspace; each has sentences of its own, so that it is told from those before it in a conversation.
"""

import base64

PROMPTS = "user_data/shared/prompts"
LISTED = [("lamp", "Words the message of a commit"), ("steps", "A conversation in several turns, with rules")]


def lists_prompts(trial):
    """The menu shows each prompt with its description."""
    for name, description in LISTED:
        trial.session.wait_listed(name, description)
        trial.check(f"lists {name}", True)


def takes_several_words(trial):
    """A value of several words arrives whole, where the prompt has one argument."""
    request = trial.ask("lamp", {"changes": "fixed the lamp"}, "Please word a commit message")
    trial.check_words("several words", request, ["Please word a commit message for this change: fixed the lamp. Use the present tense."])


def takes_several_values(trial):
    """A value of several words arrives whole beside others, which are converted to their types."""
    values = {"news": "a quiet fan", "tone": "warm", "lines": "2"}
    request = trial.ask("release", values, "Announce this")
    trial.check_words("several values", request, ["Announce this: a quiet fan. Sound warm and write 2 lines."])


def asks_for_missing_values(trial):
    """Without what a prompt needs, the user is asked by form or told what is missing; the model gets no prompt with a hole."""
    if trial.is_expected("missing value"):
        return
    since = len(trial.model.requests)
    if trial.session.has_forms:
        request = trial.ask("gift", {"wish": "a blue kite"}, "Wrap a gift")
        trial.check_words("missing value", request, ["Wrap a gift for somebody who wishes for a blue kite."])
        return
    trial.session.enter("gift")
    trial.session.wait_told(["wish"])
    sent = [request for request in trial.model.requests[since:] if "Wrap a gift" in request.text()]
    trial.check("missing value", not sent, "\n".join(request.show() for request in sent))


def sends_every_turn(trial):
    """Each message of a conversation arrives, rules included."""
    sentences = ["You repair radios and never guess.", "My radio hums at night.", "Did you open the case already?", "Yes, and the coil glows."]
    request = trial.ask("steps", {}, sentences[1])
    trial.check_words("every turn", request, sentences)


def sends_media(trial):
    """Documents and links arrive in their places between the texts; pictures where the host passes them on."""
    sentences = ["Compare the picture with the document.", "The garden has nine apple trees.", "docs://orchard", "Then count the trees."]
    request = trial.ask("media", {}, sentences[0])
    trial.check_words("document and link", request, sentences)
    picture = base64.b64encode((trial.root / PROMPTS / "media/pixel.png").read_bytes()).decode()
    trial.check("picture", request is not None and picture in request.media(), request and request.show())


def follows_changes(trial):
    """What is changed while the host is connected is what it shows and fetches next."""
    prompts = trial.root / PROMPTS
    moving, new = prompts / "moving/prompt.yaml", prompts / "novel/prompt.yaml"
    request = trial.ask("moving", {}, "The train waits at platform")
    trial.check_words("before a change", request, ["The train waits at platform one."])
    moving.write_text(moving.read_text().replace("platform one", "platform nineteen"))
    new.parent.mkdir()
    # The list changes when the new file has its name, and what was written before it is known then.
    draft = prompts / "novel/draft"
    draft.write_text("description: Came while a host was connected\nmessages: [{role: user, content: The ferry leaves at noon.}]\n")
    draft.rename(new)
    if not trial.is_expected("changed list"):
        trial.session.take_change()
        trial.session.wait_listed("novel", "Came while a host was connected")
        trial.check("changed list", True)
        trial.check_words("new prompt", trial.ask("novel", {}, "The ferry"), ["The ferry leaves at noon."])
    request = trial.ask_until("moving", "The train waits at platform", "platform nineteen")
    trial.check_words("changed prompt", request, ["The train waits at platform nineteen."])


SCENARIOS = [lists_prompts, takes_several_words, takes_several_values, asks_for_missing_values, sends_every_turn, sends_media, follows_changes]

TEXT_ALONE = "the host passes texts alone to the model"

#: What cannot work because of the host itself, by host and check.
EXPECTED = {
    ("gemini-cli", "picture"): TEXT_ALONE,
    ("qwen-code", "picture"): TEXT_ALONE,
    ("opencode", "picture"): TEXT_ALONE,
    ("qwen-code", "changed list"): "the host does not ask for the list again after a notice that it changed",
    ("opencode", "changed list"): "the host lists prompts once for each run",
    ("opencode", "missing value"): "the host fetches a prompt before it looks at what was typed",
}
