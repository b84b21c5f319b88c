//! Python of a pack sees what was approved, and bytecode never.

use std::{fs, os::unix::fs::symlink};

use super::{
    packs::{
        ANSWER, PACK, approved, assert_good, assert_refused, cached_name, compile_unchecked, copy, overwrite,
        render, state, write_pack,
    },
    support::Home,
};

const EVIL: &str = "def said():\n    return 'EVIL'\n";

#[test]
fn bytecode_that_claims_to_be_current_is_not_run() {
    let home = approved();
    for (directory, module) in [("prompts/hp", "util_y"), ("variables", "helper_y")] {
        let to = home.path(&format!("{PACK}/{directory}/{}", cached_name(module)));
        compile_unchecked(EVIL, &to);
    }
    assert_eq!(state(&home, "hp"), "approved", "what Python leaves behind is no change");
    assert_good(&render(&home));
}

#[test]
fn bytecode_is_not_run_however_python_runs() {
    let home = approved();
    compile_unchecked(EVIL, &home.path(&format!("{PACK}/prompts/hp/{}", cached_name("util_y"))));
    for isolation in ["call", "prompt", "spawn"] {
        let setting = format!("hooks.isolation={isolation}");
        assert_good(&home.run(&["render", "hp", "--set", &setting]));
    }
    assert_good(&home.run(&["render", "hp", "--set", "hooks.sandbox=off"]));
}

#[test]
fn bytecode_of_the_users_own_prompt_is_not_run_either() {
    let home = Home::new();
    let own = "user_data/shared/prompts/own";
    home.write(
        &format!("{own}/prompt.py"),
        "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport util_y\n\
         def pre_render(variables, context):\n    return {'said': util_y.said()}\n",
    );
    home.write(&format!("{own}/util_y.py"), "def said():\n    return 'GOOD'\n");
    home.write(&format!("{own}/template.md"), "{{ said }}");
    compile_unchecked(EVIL, &home.path(&format!("{own}/{}", cached_name("util_y"))));
    assert_eq!(home.done(&["render", "own"]).stdout.trim(), "GOOD");
    // What has no source at all is told.
    fs::remove_file(home.path(&format!("{own}/util_y.py"))).expect("is removed");
    compile_unchecked(EVIL, &home.path(&format!("{own}/util_y.pyc")));
    let ran = home.run(&["render", "own"]);
    assert!(ran.code != 0 && ran.has("bytecode is never run") && !ran.has("EVIL"), "{ran:?}");
}

#[test]
fn a_pack_with_bytecode_cannot_be_approved() {
    for name in ["util_y.pyc", "UTIL_Y.PYC", "util_z.pyo"] {
        let home = Home::new();
        write_pack(&home);
        compile_unchecked(EVIL, &home.path(&format!("{PACK}/prompts/hp/{name}")));
        let ran = home.run(&["pack", "approve", "hp", "--yes"]);
        assert!(ran.code != 0 && ran.has(name) && ran.has("bytecode"), "{ran:?}");
        assert_eq!(state(&home, "hp"), "pending");
        assert_eq!(render(&home).code, 3);
    }
}

#[test]
fn whatever_is_put_beside_approved_python_is_not_run() {
    let evil = "import sys\nprint('EVIL')\n";
    for (path, text) in [
        ("prompts/hp/util_y/__init__.py", EVIL),
        ("prompts/hp/json.py", EVIL),
        ("prompts/hp/sitecustomize.py", evil),
        ("prompts/hp/usercustomize.py", evil),
        ("prompts/hp/x.pth", "import sys; print('EVIL')\n"),
        ("sitecustomize.py", evil),
        ("variables/helper_y.so", "no library: EVIL"),
        ("variables/helper_y/__init__.py", EVIL),
        ("prompts/hp/util_y.pyc", "EVIL"),
    ] {
        let home = approved();
        home.write(&format!("{PACK}/{path}"), text);
        assert_refused(&render(&home), "the pack `hp`");
        assert_eq!(state(&home, "hp"), "modified", "{path}");
        // Once it is gone, nothing of it is left.
        let added = home.path(&format!("{PACK}/{path}"));
        fs::remove_file(&added).expect("is removed");
        assert_good(&render(&home));
    }
}

#[test]
fn python_is_shown_the_approved_copy_and_not_the_directory_of_the_pack() {
    let home = Home::new();
    write_pack(&home);
    home.write(
        &format!("{PACK}/prompts/hp/prompt.py"),
        "import os\n\
         def look(path):\n    \
             try:\n        return ' '.join(sorted(os.listdir(path)))\n    \
             except OSError as error:\n        return type(error).__name__\n\
         def pre_render(variables, context):\n    \
             here = os.path.dirname(os.path.abspath(__file__))\n    \
             live = os.path.join(context['workspace_path'], 'user_data/packs/hp')\n    \
             above = os.path.join(here, '../../..')\n    \
             return {'here': look(here), 'live': look(live), 'above': look(above), 'file': __file__}\n",
    );
    home.write(&format!("{PACK}/prompts/hp/template.md"), "{{ here }}|{{ live }}|{{ above }}|{{ file }}");
    home.done(&["pack", "approve", "hp", "--yes"]);
    // What Python would find beside it in the pack's own directory.
    home.write(&format!("{PACK}/prompts/hp/{}", cached_name("util_y")), "EVIL");
    let ran = home.done(&["render", "hp"]);
    let told: Vec<&str> = ran.stdout.trim().split('|').collect();
    assert_eq!(told[0], "data.json prompt.py template.md util_y.py");
    assert!(told[1].ends_with("Error") && told[2].ends_with("Error"), "{ran:?}");
    assert!(told[3].starts_with(home.outside("state").to_str().expect("is text")), "{ran:?}");
}

#[test]
fn an_edited_copy_is_refused_until_the_pack_is_approved_again() {
    type Edit = fn(&Home);
    let edits: [(&str, Edit); 8] = [
        ("`prompts/hp/util_y.py` that differs", |home| {
            overwrite(&copy(home).join("prompts/hp/util_y.py"), EVIL);
        }),
        ("`prompts/hp/template.md` that differs", |home| {
            overwrite(&copy(home).join("prompts/hp/template.md"), "EVIL");
        }),
        ("`prompts/partials/part.md` that differs", |home| {
            overwrite(&copy(home).join("prompts/partials/part.md"), "EVIL");
        }),
        ("`variables/helper_y.py` that differs", |home| {
            overwrite(&copy(home).join("variables/helper_y.py"), EVIL);
        }),
        ("__pycache__", |home| {
            compile_unchecked(EVIL, &copy(home).join("prompts/hp").join(cached_name("util_y")));
        }),
        ("util_y.so", |home| {
            fs::write(copy(home).join("prompts/hp/util_y.so"), "EVIL").expect("is written");
        }),
        ("lacks `prompts/hp/data.json`", |home| {
            let data = copy(home).join("prompts/hp/data.json");
            fs::remove_file(&data).expect("is removed");
            symlink(home.write_outside("evil.json", r#"{"said": "EVIL"}"#), data).expect("is linked");
        }),
        ("is missing", |home| fs::remove_dir_all(copy(home)).expect("is removed")),
    ];
    for (told, edit) in edits {
        let home = approved();
        edit(&home);
        let ran = render(&home);
        assert!(!ran.has("EVIL") && ran.stdout.trim() != ANSWER, "{told}: {ran:?}");
        assert!(ran.has("the approved copy of the pack `hp`") && ran.has(told), "{told}: {ran:?}");
        let doctor = home.run(&["doctor"]);
        assert!(doctor.code == 1 && doctor.has("the approved copy of the pack `hp`"), "{told}: {doctor:?}");
        home.done(&["pack", "approve", "hp", "--yes"]);
        assert_good(&render(&home));
    }
}

#[test]
fn a_copy_cannot_be_changed_through_the_pack() {
    let home = Home::new();
    write_pack(&home);
    // The file of the pack has a second name, by which it can be written later.
    let second = home.outside("second.py");
    fs::hard_link(home.path(&format!("{PACK}/prompts/hp/util_y.py")), &second).expect("is linked");
    home.done(&["pack", "approve", "hp", "--yes"]);
    fs::write(&second, EVIL).expect("is written");
    let text = fs::read_to_string(copy(&home).join("prompts/hp/util_y.py")).expect("is there");
    assert!(text.contains("GOOD"), "{text}");
    assert_refused(&render(&home), "the pack `hp`");
}

#[test]
fn a_file_that_cannot_be_read_raises_what_the_page_says() {
    let home = Home::new();
    home.write(
        "user_data/shared/prompts/reads/prompt.py",
        r#"METADATA = {"name": "reads"}
PERMISSIONS = {"read_file": True}
TEMPLATE = "{{ said | join(' ') }}"

async def pre_render(variables, context):
    said = []
    for path in variables["paths"]:
        try:
            said.append(await context["read_file"](path))
        except Exception as error:
            said.append(type(error).__name__)
    return {**variables, "said": said}
"#,
    );
    home.write("note.txt", "read");
    home.write("sub/other.txt", "other");
    home.write("bytes.txt", b"\xff\xfe");
    home.write("large.txt", vec![b'x'; (1 << 20) + 1]);
    let outside = home.write_outside("outside.txt", "outside");
    symlink(outside, home.path("out")).expect("linked");
    for (path, said) in [
        ("note.txt", "read"),
        ("sub/../note.txt", "read"),
        ("absent.txt", "FileNotFoundError"),
        ("../outside.txt", "PermissionError"),
        ("/etc/passwd", "PermissionError"),
        ("out", "PermissionError"),
        ("sub", "IsADirectoryError"),
        ("bytes.txt", "UnicodeDecodeError"),
        ("large.txt", "OSError"),
    ] {
        let ran = home.done(&["render", "reads", &format!("paths:=[\"{path}\"]")]);
        assert_eq!(ran.stdout.trim(), said, "{path}: {ran:?}");
    }
}

#[test]
fn a_module_beside_is_imported_without_a_search_path() {
    let home = Home::new();
    let kit = "user_data/packs/kit";
    let provider =
        r#"{"pack_id": "kit", "variable_providers": [{"file": "v/side.py", "namespace": "side"}]}"#;
    home.write(&format!("{kit}/pack.json"), provider);
    home.write(
        &format!("{kit}/v/side.py"),
        "import helper_z\ndef provide(context):\n    return {'said': helper_z.SAID}\n",
    );
    home.write(&format!("{kit}/v/helper_z.py"), "SAID = 'beside the provider'\n");
    home.done(&["pack", "approve", "kit", "--yes"]);
    let own = "user_data/shared/prompts/own";
    home.write(
        &format!("{own}/prompt.py"),
        "import helper_z\nMETADATA = {'name': 'own'}\nTEMPLATE = '{{ said }}, {{ side.said }}'\n\
         def pre_render(variables, context):\n    return {**variables, 'said': helper_z.SAID}\n",
    );
    home.write(&format!("{own}/helper_z.py"), "SAID = 'beside the prompt'\n");
    assert_eq!(home.done(&["render", "own"]).stdout.trim(), "beside the prompt, beside the provider");
}

#[test]
fn post_render_of_a_prompt_with_messages_is_an_error_that_says_so() {
    let home = Home::new();
    home.write(
        "user_data/shared/prompts/talk/prompt.py",
        "METADATA = {'name': 'talk', 'messages': [{'role': 'user', 'content': 'Hi'}]}\n\
         def post_render(text, variables, context):\n    return text\n",
    );
    let ran = home.run(&["render", "talk"]);
    assert!(ran.code != 0 && ran.stderr.contains("`post_render` requires a text"), "{ran:?}");
}
