#!/usr/bin/env python3
"""Records how many tokens the original tokenizers make of the texts in crates/hinagata-tokens/tests/fixtures.

  record.py DIRECTORY...

A directory holds tokenizers: tokenizer.json files, SentencePiece models, tekken.json, and lists of ranks as NAME.tiktoken
for the patterns below. `fetch.py` makes one. The small tokenizers of the fixtures are trained if they are missing. Needs
the packages tokenizers, sentencepiece and tiktoken; the versions are recorded.
"""

import base64
import importlib.metadata
import json
import pathlib
import sys

import sentencepiece
import tiktoken
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "crates/hinagata-tokens/tests/fixtures"
SMALL = FIXTURES / "tokenizers"

GPT_4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


def words(excluded="", ending=ENDING):
    """The choices for words with capitals, as GPT-4o has them."""
    upper, lower = f"[{UPPER}{excluded}]", f"[{LOWER}{excluded}]"
    prefix = r"[^\r\n\p{L}\p{N}]?"
    return f"{prefix}{upper}*{lower}+{ending}|{prefix}{upper}+{lower}*{ending}"


SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT_4O = words() + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES
TEKKEN = words(ending="") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES
KIMI = r"[\p{Han}]+|" + words(r"&&[^\p{Han}]") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES

#: The special tokens of the small tokenizers.
SPECIAL = ["<unk>", "<s>", "</s>", "<|endoftext|>"]

#: The pattern of each list of ranks.
PATTERNS = {
    "o200k_base": GPT_4O,
    "cl100k_base": GPT_4,
    "llama4": GPT_4O,
    "qwen3.6": GPT_4.replace("{1,3}", ""),
    "glm4": GPT_4,
    "kimi": KIMI,
}


def texts():
    """All texts: the long ones by name, then the short ones."""
    long = sorted((FIXTURES / "texts").iterdir())
    return [path.read_text(encoding="utf-8") for path in long] + json.loads((FIXTURES / "short.json").read_text())


def from_ranks(name, ranks, pattern):
    """A function that counts with tiktoken."""
    encoding = tiktoken.Encoding(name=name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def counter(path):
    """A function that counts with the original."""
    if path.suffix == ".tiktoken":
        lines = [line.split() for line in path.read_bytes().splitlines() if line]
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
        return from_ranks(path.stem, ranks, PATTERNS[path.stem])
    if path.suffix == ".model":
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        return lambda text: len(model.encode(text))
    data = json.loads(path.read_bytes())
    if "config" in data:
        config = data["config"]
        known = config["default_vocab_size"] - config["default_num_special_tokens"]
        ranks = {base64.b64decode(token["token_bytes"]): token["rank"] for token in data["vocab"][:known]}
        return from_ranks(path.stem, ranks, config["pattern"])
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def train_small(lines):
    """Trains one small tokenizer for each kind of model."""
    common = {"special_tokens": SPECIAL, "show_progress": False}
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pairs = trainers.BpeTrainer(vocab_size=800, initial_alphabet=alphabet, **common)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    train("byte-level.json", lines, models.BPE(), pairs, pre_tokenizer=byte_level)
    split = pre_tokenizers.Split(Regex(GPT_4.replace("{1,3}", "")), "isolated")
    after_split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    steps = pre_tokenizers.Sequence([split, after_split])
    train("split.json", lines, models.BPE(), pairs, normalizers.NFC(), steps)
    codes = {**common, "special_tokens": SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)]}
    fallback = trainers.BpeTrainer(vocab_size=900, limit_alphabet=200, **codes)
    spaces = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    model = models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    train("byte-fallback.json", lines, model, fallback, spaces)
    unigram = trainers.UnigramTrainer(vocab_size=400, unk_token="<unk>", **common)
    folded = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Lowercase()])
    ascii_lines = [line for line in lines if line.isascii()]
    train("unigram.json", ascii_lines, models.Unigram(), unigram, folded, pre_tokenizers.Metaspace())
    pieces = trainers.WordPieceTrainer(vocab_size=800, special_tokens=["[UNK]", "[CLS]"], show_progress=False)
    bert = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    train("word-piece.json", lines, models.WordPiece(unk_token="[UNK]"), pieces, *bert, length=8)
    whole = trainers.WordLevelTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False)
    steps = [pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation()]
    train("word-level.json", lines, models.WordLevel(unk_token="[UNK]"), whole, None, pre_tokenizers.Sequence(steps))


def train(name, lines, model, trainer, normalizer=None, pre_tokenizer=None, length=None):
    """Trains a tokenizer that is missing; with a length, it cuts and pads texts, which must not change counts."""
    if (SMALL / name).exists():
        return
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(lines, trainer)
    if length:
        tokenizer.enable_truncation(length)
        tokenizer.enable_padding(length=length)
    tokenizer.save(str(SMALL / name), pretty=False)


def write_tekken():
    """Writes the byte pairs of byte-level.json as tekken.json, with Mistral's pattern."""
    path = SMALL / "tekken.json"
    if path.exists():
        return
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    # Printable bytes stand for themselves, the others for the characters from U+0100 on.
    shown = [byte for byte in range(256) if chr(byte) in alphabet]
    others = [byte for byte in range(256) if byte not in shown]
    codes = {chr(byte): byte for byte in shown} | {chr(256 + at): byte for at, byte in enumerate(others)}
    vocab = json.loads((SMALL / "byte-level.json").read_text())["model"]["vocab"]
    tokens = [token for token, _ in sorted(vocab.items(), key=lambda entry: entry[1]) if token not in SPECIAL]
    entries = [base64.b64encode(bytes(codes[character] for character in token)).decode() for token in tokens]
    config = {"pattern": TEKKEN, "num_vocab_tokens": len(tokens), "default_vocab_size": len(tokens) - 90}
    file = {
        "config": config | {"default_num_special_tokens": 10, "version": "v3"},
        "vocab": [{"rank": rank, "token_bytes": entry, "token_str": None} for rank, entry in enumerate(entries)],
    }
    path.write_text(json.dumps(file))


def train_pieces(lines):
    """Trains small SentencePiece models."""
    kinds = {
        "pairs": {"model_type": "bpe", "normalization_rule_name": "identity", "byte_fallback": True},
        "pairs-folded": {"model_type": "bpe", "user_defined_symbols": ["<tag>", "def ", "▁▁"]},
        "unigram": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf"},
        "unigram-suffix": {
            "model_type": "unigram",
            "normalization_rule_name": "identity",
            "treat_whitespace_as_suffix": True,
            "user_defined_symbols": ["<tag>", "foo", "foobar"],
        },
    }
    for name, options in kinds.items():
        path = SMALL / f"{name}.model"
        if path.exists():
            continue
        common = {"vocab_size": 1200, "character_coverage": 0.98, "minloglevel": 2}
        with path.open("wb") as out:
            sentences = iter(line for line in lines if line.strip())
            trainer = sentencepiece.SentencePieceTrainer
            trainer.train(sentence_iterator=sentences, model_writer=out, **common, **options)


def main(directories):
    all_texts = texts()
    SMALL.mkdir(exist_ok=True)
    lines = "\n".join(all_texts[:8]).splitlines()
    train_small(lines)
    train_pieces(lines)
    write_tekken()
    paths = sorted(SMALL.iterdir())
    for directory in directories:
        found = sorted(pathlib.Path(directory).iterdir())
        paths += [path for path in found if path.suffix in (".json", ".model", ".tiktoken")]
    counts = {}
    for path in paths:
        count = counter(path)
        name = f"small/{path.name}" if path.parent == SMALL else path.name
        counts[name] = [count(text) for text in all_texts]
        print(name, sum(counts[name]))
    versions = {name: importlib.metadata.version(name) for name in ("tokenizers", "sentencepiece", "tiktoken")}
    lines = [f"    {json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in sorted(counts.items())]
    body = ",\n".join(lines)
    text = f'{{\n  "versions": {json.dumps(versions)},\n  "counts": {{\n{body}\n  }}\n}}\n'
    (FIXTURES / "counts.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
