"""Records what Jinja2 3.1.6 on Python 3.11 answers: the files beside this one.

    python record.py

Every file holds one subject, every line one template with its data and the output, or the kind of the
error. Templates are drawn from the pools below with a fixed seed. Values go through `set`, because
Jinja2 computes with constants at compile time and then follows other rules.
"""

import copy
import json
import pathlib
import random
import re

from jinja2 import ChainableUndefined, StrictUndefined, Undefined, exceptions
from jinja2.sandbox import SandboxedEnvironment

UNDEFINED = {"jinja": Undefined, "error": StrictUndefined, "empty": ChainableUndefined}
# What shows addresses or Python's own names is ours to word; integers beyond 128 bits are an error.
PYTHON_ONLY = re.compile(r"generator|iterator object|bound method|built-in|<function|<class|at 0x|\d{39}", re.I)
draw = random.Random(20260220)


def plain_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    """`tojson` as the hosts of chat templates have it."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment(autoescape, undefined, chat):
    made = SandboxedEnvironment(
        autoescape=autoescape,
        undefined=UNDEFINED[undefined],
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    if chat:
        made.filters["tojson"] = plain_json
    return made


def case(template, data=None, autoescape=False, undefined="jinja", chat=False):
    """One line of a file, or None where the answer is Python's alone."""
    data = {"inf": "inf", "nan": "nan"} if data is None else data
    line = {"template": template, "data": data}
    if autoescape:
        line["autoescape"] = True
    if undefined != "jinja":
        line["undefined"] = undefined
    if chat:
        line["chat"] = True
    try:
        output = environment(autoescape, undefined, chat).from_string(template).render(**copy.deepcopy(data))
        output.encode()
        if PYTHON_ONLY.search(output):
            return None
        line["output"] = output
    except UnicodeEncodeError:
        return None
    except exceptions.SecurityError:
        line["error"] = "security"
    except exceptions.UndefinedError:
        line["error"] = "undefined"
    except exceptions.TemplateSyntaxError:
        return None
    except Exception:
        line["error"] = "runtime"
    return line


def record(subject, cases, count):
    lines = {}
    for arguments in draw.sample(cases, min(len(cases), count * 2)):
        line = case(**arguments)
        if line is not None:
            lines.setdefault(json.dumps(line, ensure_ascii=False), None)
        if len(lines) == count:
            break
    path = pathlib.Path(__file__).with_name(f"{subject}.jsonl")
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def templates(*texts, **options):
    return [{"template": text, **options} for text in texts]


STRINGS = r"""''
'abc'
'Hello World'
'  a  b\tc\n d '
'straße ÉCOLE'
'日本語 テスト'
'a,b,,c'
'one\ntwo\r\nthree\n\x0b\x1c\u2028z'
'ǆ ΟΔΟΣ İ ﬁ ა'
'foo-bar baz_qux (x) [y] o\'neil'
'12'
'-42'
'-3.7e2'
'\u3000全角\u3000'
'Ⅷ½²'
'aXbXc'
'<b>"x" & \'y\'</b>'
'<b>&'|safe
'x-y'|safe
'%s and %d%%'
'{} {x} {{}}'
'١٢'
'a\tbc\td\n\te'
'\xad\x85'""".split("\n")
NUMBERS = """0 1 -1 7 -7 255 1000000007 2**70 -(2**70) 0.0 -0.0 1.5 -2.5 2.675 1e16 1e-7 1e300 3.0 1234567.891
99999.5 5e-324 inf|float nan|float true false""".split()
CONTAINERS = """[]
[1,2,3]
[3,1,2,1]
['b','A','c','a']
[1,'a',none,true,1.5]
[[1,2],[3]]
[{'a':1,'b':'x'},{'a':2,'b':'Y'},{'a':1,'b':'z'}]
()
(1,)
(1,2)
{}
{'a':1}
{'b':2,'a':[1,2],'C':{'x':none}}
{1:'one',none:2,true:3.5}
range(5)
range(5,0,-2)
[0,1,'',none]
['x'|safe,'<']
{'a':1,'b':2}.items()
{'b':2}.keys()
[nope,1]
none
nope""".split("\n")
VALUES = STRINGS + NUMBERS + CONTAINERS

FILTERS = """abs capitalize center center(7) count default default("d") default("d",true) dictsort dictsort(true)
dictsort(by="value") dictsort(reverse=true) escape filesizeformat filesizeformat(true) first float float(9)
forceescape format format(1) format("a","b") indent indent(2,true) indent("> ") indent(blank=true) int int(5)
int(base=16) int(0,36) items|list join join(",") join("<") join("-","a") last length list lower
map("upper")|list map(attribute="a")|list map(attribute="a",default=0)|list max min max(attribute="a")
min(attribute=0) pprint reject|list reject("none")|list rejectattr("a")|list replace("a","X") replace("","-")
replace("a","b",1) reverse|list reverse round round(1) round(-1) round(2,"ceil") round(1,"floor") safe
select|list select("string")|list select("odd")|list selectattr("a","eq",1)|list slice(2)|list
slice(2,"x")|list batch(2)|list batch(2,"x")|list sort sort(reverse=true) sort(true,true) sort(attribute="a,b")
string striptags sum sum(start=5) sum("a") title tojson tojson(2) trim trim("abc") truncate(5) truncate(5,true)
truncate(6,false,"..",0) unique|list unique(true)|list unique(attribute="a")|list upper urlencode urlize
wordcount wordwrap(5) wordwrap(3,false) xmlattr groupby("a") groupby(0) groupby("b",default="q")
groupby("b",case_sensitive=true) attr("zzz")""".split()
TESTS = """boolean callable defined divisibleby(3) eq(1) eq("abc") escaped even false filter float ge(1) gt(1)
in([1,"abc"]) in("abc") integer iterable le(1) lower lt(1) mapping ne(1) none number odd sameas(none) sequence
string test true undefined upper""".split()


def filters():
    for value in VALUES:
        for name in FILTERS:
            if not ("range" in value and "tojson" in name):
                yield {"template": "{% set v = " + value + " %}{{ v|" + name + " }}", "autoescape": draw.random() < 0.2}


def tests():
    for value in VALUES:
        for name in TESTS:
            yield {"template": "{% set v = " + value + " %}{{ v is " + name + " }}"}


def operators():
    pool = """0 1 -7 2**70 0.0 2.5 -0.5 true 'abc' '%s' '' '<i>'|safe [1,2] [] (1,) {'a':1} none nope range(3)
    [1,'a'] 'a' [2.5,true] inf|float nan|float""".split()
    for a in pool:
        for b in pool:
            for sign in "+ - * / // % ** ~ == != < <= > >= in".split() + ["not in"]:
                complex_result = sign == "**" and a.startswith("-")
                odd_repeat = sign == "*" and ("2**70" in (a, b) or ("safe" in a and b == "nope"))
                if not complex_result and not odd_repeat and not (sign == "**" and b == "2**70"):
                    text = "{% set a = " + a + " %}{% set b = " + b + " %}{{ a " + sign + " b }}"
                    yield {"template": text, "autoescape": draw.random() < 0.3}
    for a in VALUES:
        for text in ("{{ -v }}", "{{ +v }}", "{{ 'T' if v else 'F' }}", "{{ v }}", "{{ [v] }}",
                     "[{% for x in v %}{{ x }};{% endfor %}]"):
            yield {"template": "{% set v = " + a + " %}" + text, "autoescape": draw.random() < 0.3}


def access():
    keys = """0 1 -1 2 -3 99 1.0 true none "a" "upper" "items" "_x" "__class__" "0" nope (1,2) [1] "real" "count"
    """.split()
    names = "a b x items keys _x __class__ __len__ real imag start grouper foo append upper count".split()
    for value in VALUES:
        for key in keys:
            yield {"template": "{% set v = " + value + " %}[{{ v[" + key + "] }}]"}
        for name in names:
            yield {"template": "{% set v = " + value + " %}[{{ v." + name + " }}][{{ v." + name + " is callable }}]"}
    bounds = ["", "0", "1", "-1", "2", "-2", "5", "-9", "9", "none", "2**70"]
    for value in ["'abcdé'", "'日本語テスト'", "[0,1,2,3]", "(0,1,2)", "range(2,12,3)", "[]", "'<i>'|safe", "5", "{}", "nope"]:
        for _ in range(150):
            start, stop = draw.choice(bounds), draw.choice(bounds)
            step = draw.choice(["", "1", "2", "-1", "-2", "-9", "0"])
            yield {"template": "{% set v = " + value + " %}{{ v[" + start + ":" + stop + ":" + step + "] }}"}


def string_methods():
    calls = [f"{name}()" for name in """capitalize casefold isalnum isalpha isascii isdecimal isdigit isidentifier
    islower isnumeric isprintable isspace istitle isupper lower lstrip rstrip strip split rsplit splitlines swapcase
    title upper expandtabs encode""".split()]
    calls += [f"{name}({given})" for name in ("center", "ljust", "rjust")
              for given in ('5', '6,"*"', '7,"é"', '0', '-3', '"x"', '5,""', '5,"ab"', '4,"<"', '')]
    calls += [f"{name}({given})" for name in ("zfill", "expandtabs") for given in ('0', '3', '7', '-1', 'true', '"x"')]
    calls += [f"{name}({given})" for name in ("count", "find", "rfind", "index", "rindex", "startswith", "endswith")
              for given in ('"a"', '""', '"X"', '"本"', '"zz"', '"a",1', '"a",1,3', '"",1,2', '"",99', '"",3,1', '"a",-2',
                            '"a",none,none', '("a","H")', '("a",1)', '["a"]', '1', '', '"a",1,2,3', '"",0,-99')]
    calls += [f"replace({given})" for given in
              ('"a","b"', '"","-"', '"a","<"', '"X","--",1', '"a","",2', '"","-",2', '"","-",0', '"a"', '"a",1', '"a","b",-1',
               '"a","b",count=1', '"a","b"|safe')]
    calls += [f"{name}({given})" for name in ("partition", "rpartition", "removeprefix", "removesuffix")
              for given in ('"a"', '"X"', '""', '"本"', '1', '')]
    calls += [f"{name}({given})" for name in ("split", "rsplit")
              for given in ('","', '"X"', '""', '",",1', 'none,1', 'none,0', 'maxsplit=1', 'sep="X",maxsplit=1', '"a",-1',
                            '"a",0', '1', '"aa"', '"\\n"')]
    calls += ["splitlines(true)", "splitlines(keepends=0)", "splitlines(none)", 'encode("ascii")', 'encode("latin-1")',
              'encode("ascii","replace")', 'encode().decode("ascii")', "encode().decode()", "unescape()", "striptags()"]
    calls += [f"{name}({given})" for name in ("strip", "lstrip", "rstrip")
              for given in ('"a"', '" a"', '"<>"', '""', '"日語"', '1')]
    calls += [f"join({given})" for given in ("['a','b']", "[]", "'xyz'", "[1]", "['<','x'|safe]", "{'k':1}", "nope", "none")]
    calls += [f"translate({given})" for given in
              ("{97:'A'}", "{97:none,98:66}", "'abc'.maketrans('ab','xy','c')", "'abc'.maketrans({'a':'1',98:'2'})", "1")]
    for value in STRINGS:
        for call in calls:
            yield {"template": "{% set v = " + value + " %}[{{ v." + call + " }}]", "autoescape": draw.random() < 0.1}


def collection_methods():
    lists = ["[]", "[1,2,3,2]", "['b','a']", "[[1],[2]]", "[1,'a']", "[3.0,1,true]", "(1,2,1)", "range(0,9,3)"]
    calls = """append(9) append() append(1,2) clear() copy() count(2) count([1]) extend([7,8]) extend("xy") extend(5)
    extend(v) index(2) index(2,2) index(2,-1) index(2,0,1) index("z") insert(0,"n") insert(-1,"n") insert(99,"n")
    insert(-99,"n") insert("a",1) pop() pop(0) pop(-2) pop(99) pop("a") remove(2) remove("zz") reverse() sort()
    sort(reverse=true) sort(true) sort(key=none) foo()""".split()
    for value in lists:
        for call in calls:
            yield {"template": "{% set v = " + value + " %}{{ v." + call + " }} {{ v }}"}
    calls = """clear() copy() fromkeys("ab") fromkeys([1,2],0) fromkeys(5) get("a") get("z") get("z",9) get([1]) get(1)
    get(true) get(nope) get() get("z",default=1) items() keys() values() items(1) pop("a") pop("z") pop("z",5) pop()
    popitem() setdefault("a",5) setdefault("z") setdefault("z",5) setdefault([1]) update({"q":1}) update(q=1)
    update([("x",1)]) update([1]) update("ab") update(["ab"]) update(5) update({"a":2},a=3) update(v) foo()
    items()|list keys()|first values()|sum keys()|last items()|sort keys()|reverse|list keys()==v.keys() items()[0]
    keys()|length values()is__sequence items()|map("first")|list keys()|tojson keys()|pprint""".split()
    for value in ["{}", "{'a':1}", "{'b':2,'a':[1]}", "{1:2,none:3}"]:
        for call in calls:
            call = call.replace("is__", " is ")
            yield {"template": "{% set v = " + value + " %}{{ v." + call + " }} {{ v }}"}
    for value in NUMBERS:
        for call in "bit_length() bit_count() conjugate() as_integer_ratio() real imag numerator denominator is_integer() hex() foo()".split():
            yield {"template": "{% set v = " + value + " %}{{ v." + call + " }}"}
    data = {"d": {"tags": ["old"], "n": {"k": 1}}}
    for text in ("{% do d.tags.append('new') %}{{ d.tags }}{{ d }}", "{% do d.n.update(k=2) %}{{ d.n.k }}{{ d['n'] }}",
                 "{% set t = d.tags %}{% do t.extend([1, 2]) %}{{ d.tags|length }}{{ t.pop(0) }}{{ d.tags }}",
                 "{% for x in d.tags %}{% do d.tags.append(1) if d.tags|length < 4 %}{{ x }},{% endfor %}{{ d.tags }}",
                 "{% do d.clear() %}[{{ d }}]{{ d.tags is defined }}", "{{ d.pop('n') }}{{ d }}{{ d.popitem() }}{{ d }}"):
        yield {"template": text, "data": data}


def specification():
    spec = draw.choice(["", "", "<", ">", "^", "=", "*<", "0>", "é^", "x="]) + draw.choice(["", "", "+", "-", " "])
    spec += "z" * (draw.random() < 0.08) + "#" * (draw.random() < 0.2) + "0" * (draw.random() < 0.25)
    spec += draw.choice(["", "0", "1", "5", "8", "20"]) + draw.choice(["", "", "", ",", "_"])
    return spec + draw.choice(["", "", ".0", ".1", ".2", ".5", ".17", ".25"]) + draw.choice(list("bcdeEfFgGnosxX%") + [""] * 4)


def directive():
    text = "%" + "".join(flag for flag in "-+ #0" if draw.random() < 0.2) + draw.choice(["", "", "0", "3", "8", "12"])
    return text + draw.choice(["", "", ".", ".0", ".2", ".10", ".20"]) + draw.choice("diouxXeEfFgGcrsa%")


def formatting():
    pool = NUMBERS[:2] + [value for value in NUMBERS if "1e300" not in value] + ["none", "'ab'", "'日本語'", "''", "[1]", "nope", "65"]
    for _ in range(2500):
        yield {"template": "{% set v = " + draw.choice(pool) + " %}[{{ '{:" + specification() + "}'.format(v) }}]"}
    for _ in range(2500):
        text = "{% set v = " + draw.choice(pool) + " %}[{{ '" + directive() + "' % v }}]"
        yield {"template": text, "autoescape": draw.random() < 0.1}
    for _ in range(400):
        text = "{% set v = (" + draw.choice(pool) + "," + draw.choice(pool) + ") %}[{{ 'a" + directive() + "b" + directive() + "' % v }}]"
        yield {"template": text}
    named = ["%(a)s", "%(a)d %(b)s", "%(a)s %s", "%(z)s", "%(a", "%", "%5", "%(a)%", "%((a))s", "%*d", "%.*f", "%-*d|", "%y"]
    for text in named:
        for value in ["{'a':1,'b':'x'}", "(1,2)", "(5,3.14159)", "'s'", "5", "[1]", "nope", "()", "{}", "(-6,42)", "{'(a)':3}"]:
            yield {"template": "{% set v = " + value + " %}[{{ '" + text + "' % v }}]"}
            yield {"template": "{% set v = " + value + " %}[{{ ('" + text + "'|safe) % v }}]", "autoescape": True}
    fields = """{} {0} {1}{0} {}{} {0}{} {}{0} {a} {a.b} {0.b} {0[b]} {0[0]} {0[-1]} {a[x]} {!r} {!s} {!a} {!x} {!r:>8}
    {:>{w}} {:{w}.{p}} {:{}} {0:{1}} {{}} {{ }} { } {}} {{} {a {a[b {a[b]c} {a.} {a..b} {a[]} {.b} {[0]} {0!} {0!r {0!rr}
    {0:} {:{:{}}} {0.__class__} {0._x} {0.real} {0[1][0]} {0.b.c} {0.nope} {0[nope]} {é} {0:é^5} {00} {-1} {a:b:c} {:}>5}""".split()
    arguments = ["5", "'x'", "'<',2", "{'b':1}", "[1,[2]]", "a=1", "a={'b':3,'x':4}", "'q',a='<b>',w=6,p=2", "'hello',w=8,p=3",
                 "'v','>5'", "3.14159,w='8',p=2", "nope", "none,true", "5,2,3,é='e'", "'<i>'|safe", "a='<i>'|safe"]
    for field in fields:
        for given in arguments:
            yield {"template": "[{{ '" + field + "'.format(" + given + ") }}]"}
            yield {"template": "[{{ ('<" + field + ">'|safe).format(" + given + ") }}]", "autoescape": True}
        for given in ["{}", "{'a':1}", "{'a':{'b':'<'}}", "5", "[1]", "a=1", ""]:
            yield {"template": "[{{ '" + field + "'.format_map(" + given + ") }}]"}


WORDS = """a bb the well-known state-of-the-art foo--bar -- - x- -y a-b-c ab-cd 日本語 can't e.g. 1-2 x1-y2 _a-_b é-è ab--cd
"quoted-word" !--z supercalifragilistic --foo--bar-- -a-bb aa-b ... α-β-γδ""".split() + ["\u3000", "a\u00a0b"]


def text(count):
    gaps = [" ", "  ", "\t", "\n", " ", "\r\n", "", "\x0b", "\x1c", "\u2028"]
    return "".join(draw.choice(WORDS) + draw.choice(gaps) for _ in range(draw.randint(0, count)))


def texts():
    for _ in range(900):
        options = ",".join([str(draw.choice([1, 2, 3, 5, 7, 8, 10, 12, 20, 79, 0]))]
                           + ["break_long_words=false"] * (draw.random() < 0.3) + ["break_on_hyphens=false"] * (draw.random() < 0.3)
                           + ['wrapstring="|"'] * (draw.random() < 0.1))
        yield {"template": "{{ s|wordwrap(" + options + ") }}", "data": {"s": text(12)}}
    for _ in range(300):
        options = f"{draw.choice([0, 1, 3, 5, 8, 12, 20])},{draw.choice(['true', 'false'])},'{draw.choice(['...', '', '…', '<'])}',{draw.choice([0, 1, 5])}"
        yield {"template": "{{ s|truncate(" + options + ") }}", "data": {"s": text(8)}, "autoescape": draw.random() < 0.3}
        options = f"{draw.choice([0, 1, 2, 4, -1])},{draw.choice(['true', 'false'])},{draw.choice(['true', 'false'])}"
        yield {"template": "{{ s|indent(" + options + ") }}", "data": {"s": text(8)}}
        several = "{{ s|title }}|{{ s.title() }}|{{ s|capitalize }}|{{ s|wordcount }}|{{ s|trim }}|{{ s.split() }}|{{ s.splitlines() }}|{{ s.rsplit(none,2) }}|{{ s.swapcase() }}|{{ s.istitle() }}"
        yield {"template": several, "data": {"s": text(8)}}


LINKS = """http://example.com https://example.com/path?q=1#f www.example.com example.com foo.bar.org EXAMPLE.COM
http://localhost http://1.2.3.4 http://1.2.3 http://[::1]/ http://[1:2:3:4:5:6:7:8] http://[abcde::1] http://a.b:80/x
http://a.b:123456 ftp://x.com mailto:a@b.co a@b.co a@b @a@b.co a.b-c@d-e.f-g.co a@b.c-d x:a@b.co www. www.a http://
https://xn--p1ai http://xn--a.com xn--foo.com a.com (http://example.com) <http://example.com> http://example.com/(a)
http://example.com/(a (www.example.com/x). http://example.com, http://example.com... "http://a.co" http://a.co/<b>
tel:123 xmpp:foo http://日本.com 日本.com http://a_b.com a%20b.com http://example.com?x=<y>&z HTTP://EXAMPLE.COM
foo.info/bar foo.mil:80 foo.comx -a.com http://-.com )))) ((a)) x@y.z. foo@bar.com) (foo@bar.com""".split()
MARKUP = ["<p>", "</p>", "<br/>", "<!-- c -->", "<!--", "-->", "<", ">", "a", "b ", "  ", "&amp;", "&lt;", "&copy", "&copy;",
          "&notit;", "&notin;", "&#65;", "&#x41;", "&#x41", "&#0;", "&#128;", "&#xD800;", "&#1114112;", "&#99999999999;", "&#1;",
          "&bogus;", "&", "&&", "&;", "&#;", "&#x;", "\n", "é", "&NotEqualTilde;", "&nGt;", '<a href="x>y">', "&frac12", "&AMP"]


def web():
    for _ in range(700):
        options = ",".join(["trim_url_limit=%d" % draw.choice([5, 10, 0, -3, 100])] * (draw.random() < 0.2)
                           + ["nofollow=true"] * (draw.random() < 0.1) + ['target="_blank<"'] * (draw.random() < 0.1)
                           + ['rel="b a"'] * (draw.random() < 0.1) + ['extra_schemes=["tel:","xmpp:"]'] * (draw.random() < 0.2))
        words = " ".join(draw.choice(LINKS) for _ in range(draw.randint(1, 3)))
        yield {"template": "{{ s|urlize(" + options + ") }}", "data": {"s": words}, "autoescape": draw.random() < 0.2}
    for given in ('["x"]', '["ab:"]', '["ab://"]', '["ab:///"]', '["a:"]', "5", '["a b:"]'):
        yield {"template": "{{ 'ab:x'|urlize(extra_schemes=" + given + ") }}"}
    for _ in range(900):
        markup = "".join(draw.choice(MARKUP) for _ in range(draw.randint(1, 8)))
        yield {"template": draw.choice(["{{ s|striptags }}", "{{ (s|safe).unescape() }}", "{{ s|urlencode }}", "{{ s|e }}"]),
               "data": {"s": markup}}
    for given in ("{'a':1}", "{'a b':1}", "{'a>':1}", "{'a':'<',none:2}", "{1:2}", "{'a':none,'b':nope,'c':'<'|safe}", "[]"):
        yield {"template": "[{{ (" + given + ")|xmlattr }}][{{ (" + given + ")|xmlattr(false) }}]", "autoescape": draw.random() < 0.5}


def document(depth):
    if depth <= 0 or draw.random() < 0.35:
        return draw.choice([None, True, False, 0, 1, -5, 123456789012, 1.5, 1e20, "", "a", "it's", 'say "hi"', "both ' and \"",
                            "line\nbreak and more words to wrap around the width of the page, you know", "日本語テキスト", "tab\t",
                            "x" * draw.randint(1, 60), " ".join(["word"] * draw.randint(1, 30)), "a\n\nb\n", "\u00a0\u200b"])
    if draw.random() < 0.5:
        return [document(depth - 1) for _ in range(draw.randint(0, 5))]
    keys = ["k", "key", "longer key", "Z", "a", "b", "é", "1", "x" * 20, "'q"]
    return {draw.choice(keys): document(depth - 1) for _ in range(draw.randint(0, 5))}


def documents():
    for _ in range(500):
        yield {"template": "{{ v|pprint }}", "data": {"v": document(4)}}
        yield {"template": "{{ v }}|{{ [v,(v,)] }}|{{ v|string|length }}", "data": {"v": document(3)}}
        indent = draw.choice(["0", "1", "2", '"--"', "true", "-1"])
        yield {"template": "{{ v|tojson }}|{{ v|tojson(" + indent + ") }}", "data": {"v": document(3)}}
        several = "{{ v|tojson }}|{{ v|tojson(indent=2) }}|{{ v|tojson(ensure_ascii=true) }}|{{ v|tojson(separators=(',',':'), sort_keys=true) }}"
        yield {"template": several, "data": {"v": document(3)}, "chat": True}
        several = "{{ (v,)|pprint }}|{{ {'k':(v,1),2:3,none:4}|pprint }}|{{ [v,range(3),nope,('a'*90)|safe]|pprint }}"
        yield {"template": several, "data": {"v": document(3)}}


def numbers():
    words = """1 -1 +1 1.5 -2.5 1e3 1E-3 1_000 1__0 _1 1_ 0x1f 0b11 0o17 0X1F ff zz inf -inf nan Infinity 1e400 ５ 1. .5 . e5 1e
    1e+ --1 +-1 0 -0 00 007 1e30 1_0.0_1 1_.0 1._0 1e1_0 0x 0x_1 true None 1j ١٢٣ ² ½ 1,000""".split() + ["", "  5 ", "\u30005", "1 2", "\x1c5"]
    for word in words:
        for name in ["int", "int(7)", "int(base=16)", "int(base=2)", "int(base=0)", "int(base=36)", "int(base=1)", "float", "float('d')", "filesizeformat"]:
            yield {"template": "{{ s|" + name + " }}", "data": {"s": word}}
    for _ in range(400):
        number = draw.choice([draw.uniform(-1e4, 1e4), draw.uniform(-10, 10), draw.randint(-10**6, 10**6) / 10**draw.randint(0, 6),
                              10.0**draw.randint(-20, 20) * draw.random(), draw.choice([0.5, 2.5, 1e16, 5e-324, 0.045, 1.005, 2.675])])
        places = draw.choice(["0", "1", "2", "3", "-1", "-2", "5", "10"])
        several = "{{ x|round(P) }} {{ x|round(P,'ceil') }} {{ x|round(P,'floor') }}".replace("P", places)
        yield {"template": several, "data": {"x": number}}
        several = "{{ x }} {{ x|int }} {{ '%.3f'|format(x) }} {{ '{:g} {:.10g} {:e} {:,.2f} {:%}'.format(x,x,x,x,x) }} {{ x|filesizeformat }} {{ x // 3 }} {{ x % 3 }} {{ x % -0.7 }} {{ x // -0.7 }} {{ x ** 2 }} {{ x|tojson }}"
        yield {"template": several, "data": {"x": number}}
        whole = lambda: draw.choice([draw.randint(-10**6, 10**6), draw.randint(-2**63, 2**63 - 1), draw.randint(-20, 20)]) or 1
        several = "{{ n/m }} {{ n//m }} {{ n%m }} {{ n*m }} {{ n+m }} {{ n-m }} {{ n*m/7 }} {{ n|round(-2) }} {{ n|filesizeformat(true) }} {{ '{:,} {:x} {:+d} {:_b}'.format(n,n,n,n) }} {{ n < m }} {{ n*1.0 == n }} {{ n|float }}"
        yield {"template": several, "data": {"n": whole(), "m": whole()}}


def row():
    number = lambda: draw.choice([0, 1, 2, 3, 5, -1, 1.5, 2.0, True])
    whole = {"k": draw.choice("xXyYz"), "n": number(), "s": draw.choice("bAaB"), "d": {"q": number(), "l": [1, 2]}}
    return {key: value for key, value in whole.items() if draw.random() < 0.85}


def sequences():
    calls = """sort sort(reverse=true) sort(attribute="n") sort(attribute="k") sort(attribute="k,n") sort(attribute="d.q")
    sort(true,true,"s") groupby("k") groupby("n") groupby("k",case_sensitive=true) groupby("k",default="m")
    groupby("d.q",default=0) map(attribute="k")|list map(attribute="d.q")|list map(attribute="d.l.1",default="-")|list
    map(attribute="z.y")|list map("length")|list map("default","x")|list map("upper")|list map("int",default=5)|list
    selectattr("n")|list|length selectattr("n","gt",1)|map(attribute="n")|list selectattr("k","in",["x","y"])|list|length
    rejectattr("n","odd")|list|length selectattr("d.q","defined")|list|length select("mapping")|list|length
    reject("number")|list unique|list unique(attribute="k")|list|length sum(attribute="n") sum(attribute="d.q",start=1.5)
    min(attribute="n") max(attribute="k") min max first last length join(",",attribute="k") join("-") reverse|list
    batch(3)|list slice(3)|list|length batch(2,0)|map("length")|list slice(4,"f")|map("length")|list items|list dictsort
    map("first")|list map(attribute=0)|list map(attribute="0")|list sum map("abs")|list select(">",1)|list
    select("sameas",none)|list map("round",1)|list map("join","+")|list map("nosuch")|list select("nosuch")|list map|list
    selectattr|list map(1)|list map(attribute="k",foo=1)|list map("upper",1)|list groupby sort(foo=1) join(",",";",1) batch
    slice(-1)|list slice(0)|list batch(-1)|list batch("a")|list batch(0,1)|list default(1,2,3) dictsort(1,2,3,4)
    map("center",5)|list map("e")|list map("groupby","k")|list|length""".split()
    scalar = lambda: draw.choice([0, 1, 2, 3, -1, 1.5, 2.0, True, False, None, "a", "B", "b", "A", "c", "", "10", "9"])
    for _ in range(60):
        value = draw.choice([lambda: [row() for _ in range(draw.randint(0, 6))], lambda: [scalar() for _ in range(draw.randint(0, 6))],
                             lambda: [draw.choice([1, 5, 2.5, -3]) for _ in range(draw.randint(0, 40))],
                             lambda: [draw.choice(["a", "B", "b", "zz", ""]) for _ in range(draw.randint(0, 30))],
                             lambda: [[scalar()] for _ in range(draw.randint(0, 4))],
                             lambda: {draw.choice("abcXYZ"): scalar() for _ in range(draw.randint(0, 5))}])()
        for call in draw.sample(calls, 25):
            yield {"template": "{{ v|" + call + " }}", "data": {"v": value}, "undefined": draw.choice(["jinja", "jinja", "error", "empty"])}
    for text in ("{% set g = v|map('string') %}{{ g|first }}{{ g|list }}{{ g|list }}", "{% set g = v|unique %}{{ g|first }}|{{ g|join(',') }}",
                 "{% set g = v|reverse %}{{ g|list }}{{ g|list }}", "{% set g = v|batch(2) %}{{ g|first }}{{ g|list|length }}",
                 "{% set g = v|map('string') %}{{ '1' in g }}{{ g|list|length }}", "{% set g = v|map('string') %}{{ g|length }}",
                 "{% set g = v|map('string') %}{{ g[0] }}|", "{% set g = v|map('string') %}{{ 'T' if g else 'F' }}{{ g is sequence }}",
                 "{% set g = v|map('string') %}{{ g|last }}", "{% set g = v|map('string') %}{{ g|sort }}{{ g|sort }}",
                 "{% for g in v|groupby('k') %}{{ g }}{{ g.grouper }}{{ g.list|length }}{{ g[0] }}{{ g.count(1) }}{% endfor %}"):
        for value in ([], [3, 1, 1, 2], ["b", "a"], [{"k": 1}, {"k": 0}, {"k": 1}], {"a": 1, "b": 2}, "xyx", None):
            yield {"template": text, "data": {"v": value}, "undefined": draw.choice(["jinja", "error"])}


def undefined():
    missing = ["nope", "nope.x", "d.x", "d['x']", "l[9]", "d.x.y", "l|first"]
    uses = """U U|upper U|length U|list U|first U|int U|default('q') U~1 -(U) [U] 'a'in(U) (U)in'a' (U)in[1] (U)in(d) d[U] l[U]
    '%s'|format(U) '{}'.format(U) '{:>5}'.format(U) '{.a}'.format(U) 'a'.join([U]) [U]|join 'abc'|replace('b',U) U|replace('b','c')
    U|tojson U|string U|safe U|e U|trim U|sort U|sum U|map('upper')|list U|selectattr('a')|list U|groupby('a') U|dictsort U|items|list
    U|indent U|wordwrap U|truncate U|urlize U|urlencode U|xmlattr U|striptags U|wordcount U|center(4) U|title U|pprint U|batch(2)|list
    U|slice(2)|list U|unique|list U|reverse|list U|random U|max U|last U|round U|round(1,'floor') U|float U|abs U|filesizeformat U|format(1)
    U|capitalize U|forceescape U|attr('x') U.foo U['foo'] U[0] U() U.foo() U[1:] U==1 U<1 U+1 1+U 'x'*U U|join(',') [1,2]|join(U)
    'abc'.replace(U,'x') 'abc'.startswith(U) range(U)|list dict(U) [1,2]|sum(start=U) [3,1]|sort(reverse=U) [3,1]|map(U)|list
    'a|b'|truncate(U) 'a'|center(U) 'ab'|indent(U) 5|round(U) [1]|batch(U)|list d.get(U) d.get('q',U) 'a'|default(U) 'a,b'.split(U)
    [U]|sort [U,U]|unique|list [U]|max (U,) [1,U]|max not(U) U|or|'z' 1|if|U|else|2""".split()
    for name in missing:
        for use in uses:
            use = use.replace("|or|", " or ").replace("|if|", " if ").replace("|else|", " else ").replace("U", name)
            for mode in UNDEFINED:
                yield {"template": "{{ " + use + " }}", "data": {"d": {"a": 1}, "l": []}, "undefined": mode}
        for test in TESTS:
            for mode in UNDEFINED:
                yield {"template": "{{ " + name + " is " + test + " }}", "data": {"d": {"a": 1}, "l": []}, "undefined": mode}


if __name__ == "__main__":
    for subject in (filters, tests, operators, access, string_methods, collection_methods, formatting, texts, web, documents,
                    numbers, sequences, undefined):
        record(subject.__name__.replace("_", "-"), list(subject()), 100 if subject is documents else 420)
