import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.domain.candidate import Claim, NoClaim
from mergebot.domain.commands import ExtendClaim, parse_commands
from mergebot.domain.limits import CHANGED_PATHS_MAX
from mergebot.domain.names import render_path
from mergebot.domain.policy import ClaimPolicy
from mergebot.domain.reasons import Reason
from mergebot.domain.scope import (
    Allowed,
    Change,
    Enqueuer,
    Inside,
    Mode,
    Outside,
    Touched,
    check_scope,
    extend_command,
    links_to_read,
)

OLD, NEW = "1" * 40, "2" * 40


def edit(path: str) -> Change:
    return Change(path, Mode.FILE, Mode.FILE, OLD, NEW)


def add(path: str, mode: Mode = Mode.FILE) -> Change:
    return Change(path, Mode.ABSENT, mode, "0" * 40, NEW)


def delete(path: str, mode: Mode = Mode.FILE) -> Change:
    return Change(path, mode, Mode.ABSENT, OLD, "0" * 40)


def claiming(*patterns: str, enqueuer: Enqueuer = Enqueuer.MEMBER) -> Allowed:
    return Allowed(Claim("c1", "AUTH-142", patterns), ClaimPolicy(), enqueuer)


ANYTHING = Allowed(NoClaim(), ClaimPolicy())
BY_ADMIN = Enqueuer.ADMIN


def refusal(allowed: Allowed, *changes: Change, **targets: str) -> Outside:
    verdict = check_scope(Touched(changes, changes, targets=targets), allowed)
    assert isinstance(verdict, Outside)
    return verdict


def inside(allowed: Allowed, *changes: Change, **targets: str) -> bool:
    return isinstance(check_scope(Touched(changes, changes, targets=targets), allowed), Inside)


def test_what_would_land_is_returned_sorted() -> None:
    changes = [edit("src/b"), add("src/a")]
    assert check_scope(Touched(changes, changes), claiming("src/**")) == Inside(("src/a", "src/b"))


def test_a_path_outside_the_claim_is_named_with_a_sentence() -> None:
    verdict = refusal(claiming("src/**"), edit("src/a"), edit("docs/x"), edit("src_evil/a"))
    assert verdict.reason is Reason.OUT_OF_SCOPE
    assert verdict.strayed == ("docs/x", "src_evil/a")
    assert verdict.details == ("docs/x is outside the claim.", "src_evil/a is outside the claim.")


@pytest.mark.parametrize(
    "change",
    [
        delete("infra/deploy.tf"),
        add("infra/deploy.tf"),
        Change("infra/run", Mode.FILE, Mode.EXECUTABLE, OLD, OLD),
        Change("infra/run", Mode.FILE, Mode.SUBMODULE, OLD, NEW),
        edit("src"),
        edit("Src/a"),
        edit("src\uff0fa"),
    ],
)
def test_every_kind_of_record_counts(change: Change) -> None:
    assert refusal(claiming("src/**"), edit("src/a"), change).strayed == (change.path,)


def test_both_ends_of_a_rename_have_to_be_claimed() -> None:
    out_to_in = [delete("infra/deploy.tf"), add("src/deploy.tf")]
    assert refusal(claiming("src/**"), *out_to_in).strayed == ("infra/deploy.tf",)


def test_a_path_that_only_the_landing_changes_stops_it() -> None:
    touched = Touched([edit("src/a"), edit("src/b")], [edit("src/a")])
    verdict = check_scope(touched, claiming("src/**"))
    assert isinstance(verdict, Outside)
    assert verdict.reason is Reason.OUT_OF_SCOPE
    assert verdict.details == (
        "src/b would change in the landing, although its author did not change it.",
    )


def test_a_path_that_only_the_author_changed_has_to_be_claimed_too() -> None:
    touched = Touched([edit("src/a")], [edit("src/a"), edit("docs/x")])
    verdict = check_scope(touched, claiming("src/**"))
    assert isinstance(verdict, Outside)
    assert verdict.strayed == ("docs/x",)


def test_without_a_claim_everything_but_protected_paths_is_allowed() -> None:
    assert inside(ANYTHING, edit("a"), add("b/c"), delete("d"), add("vendor/x", Mode.SUBMODULE))
    assert refusal(ANYTHING, edit(".mergebot.toml")).reason is Reason.PROTECTED_PATH


def test_where_a_claim_is_required_nothing_lands_without_one() -> None:
    verdict = refusal(Allowed(NoClaim(), ClaimPolicy(required=True)), edit("a"))
    assert verdict.reason is Reason.CLAIM_MISSING


WORKFLOW = ".github/workflows/ci.yml"


@pytest.mark.parametrize(
    ("allowed", "missing"),
    [
        (claiming("**"), "a claim names it without wildcards and an admin sets the label"),
        (claiming("**", enqueuer=BY_ADMIN), "a claim names it without wildcards"),
        (claiming(".github/**", enqueuer=BY_ADMIN), "a claim names it without wildcards"),
        (claiming(WORKFLOW), "an admin sets the label"),
        (ANYTHING, "a claim names it without wildcards and an admin sets the label"),
    ],
)
def test_a_protected_path_says_what_is_missing(allowed: Allowed, missing: str) -> None:
    verdict = refusal(allowed, edit(WORKFLOW))
    assert verdict.reason is Reason.PROTECTED_PATH
    assert verdict.details == (f"{WORKFLOW} is protected: it lands when {missing}.",)


def test_a_protected_path_lands_when_named_and_labelled_by_an_admin() -> None:
    assert inside(claiming(WORKFLOW, enqueuer=BY_ADMIN), edit(WORKFLOW))


def test_a_protected_path_with_brackets_is_named_as_it_is_written() -> None:
    path = ".github/[a]{b,c}.yml"
    assert inside(claiming(path, enqueuer=BY_ADMIN), edit(path))
    assert extend_command([path]) == f"@mergebot claim {path}"


@pytest.mark.parametrize(
    "change",
    [
        add(".GitHub/workflows/x.yml"),
        add(".MERGEBOT.toml"),
        delete(".mergebot.toml"),
        add(".github"),
        add(".GITHUB", Mode.SUBMODULE),
    ],
)
def test_what_another_system_takes_for_a_protected_path_is_protected(change: Change) -> None:
    assert refusal(claiming("**", enqueuer=BY_ADMIN), change).reason is Reason.PROTECTED_PATH


def test_an_invalid_protected_pattern_is_an_error_and_protects_by_that() -> None:
    with pytest.raises(ValueError, match="holds"):
        inside(Allowed(NoClaim(), ClaimPolicy(protected=("a/../b",))), edit("a"))


@pytest.mark.parametrize(
    ("path", "target", "word"),
    [
        ("src/link", "/etc/passwd", "relative"),
        ("src/link", "../../x", "outside the repository"),
        ("src/link", "x/../../y", ".. may only stand"),
        ("link", "..", "outside the repository"),
        ("src/link", "C:/x", "relative"),
        ("src/link", "..\\..\\x", "relative"),
        ("src/link", "../.git/config", "git directory"),
        ("src/link", "../.GIT/hooks", "git directory"),
    ],
)
def test_a_link_that_leaves_the_tree_is_refused(path: str, target: str, word: str) -> None:
    for change in (add(path, Mode.SYMLINK), Change(path, Mode.FILE, Mode.SYMLINK, OLD, NEW)):
        verdict = refusal(claiming("**"), change, **{path: target})
        assert verdict.reason is Reason.FORBIDDEN_CONTENT
        assert word in verdict.details[0]


def test_a_link_inside_the_tree_needs_a_claim_like_any_path() -> None:
    link = add("src/link", Mode.SYMLINK)
    assert inside(claiming("src/**"), link, **{"src/link": "../docs/x"})
    assert refusal(claiming("lib/**"), link, **{"src/link": "x"}).reason is Reason.OUT_OF_SCOPE


def test_a_link_whose_target_is_unknown_is_refused() -> None:
    link = add("src/link", Mode.SYMLINK)
    assert links_to_read([link, edit("a"), delete("b", Mode.SYMLINK)]) == (link,)
    assert refusal(ANYTHING, link).reason is Reason.FORBIDDEN_CONTENT


def test_a_link_that_is_on_the_trunk_already_is_not_read_again() -> None:
    touched = Touched([edit("a")], [edit("a"), add("link", Mode.SYMLINK)])
    assert check_scope(touched, ANYTHING) == Inside(("a",))


def test_a_submodule_has_to_be_named_exactly() -> None:
    pointer = Change("vendor/x", Mode.SUBMODULE, Mode.SUBMODULE, OLD, NEW)
    for change in (pointer, edit(".gitmodules"), delete("vendor/x", Mode.SUBMODULE)):
        assert refusal(claiming("**"), change).reason is Reason.OUT_OF_SCOPE
        assert inside(claiming(change.path), change)


ODD_NAMES = [
    "a\nb",
    "a\tb",
    'a"b',
    "-rf",
    "src/-x",
    " a",
    "a /b",
    "a.",
    "a\\b",
    "a\udcff",
    unicodedata.normalize("NFD", "é"),
    "a\u200bb",
    "a\u202eb",
    "\ufeffa",
    "a\u2028b",
]


@pytest.mark.parametrize("path", ODD_NAMES)
def test_a_new_file_with_a_misleading_name_is_refused(path: str) -> None:
    verdict = refusal(claiming("**"), add(path))
    assert verdict.reason is Reason.FORBIDDEN_CONTENT
    assert all(line.isprintable() for line in (*verdict.strayed, *verdict.details))


@pytest.mark.parametrize("path", ODD_NAMES)
def test_a_file_that_has_its_odd_name_already_may_be_changed(path: str) -> None:
    assert inside(claiming("**"), edit(path))
    assert inside(claiming("**"), delete(path))


def test_an_odd_name_that_the_claim_writes_out_is_meant() -> None:
    assert inside(claiming("src/-x", "a\u200bb"), add("src/-x"), add("a\u200bb"))


@pytest.mark.parametrize(
    "path", [".git/config", "x/.GIT/hooks/pre-commit", ".g\u200cit/x", ".git ./x", "GIT~1/x"]
)
def test_a_git_directory_is_refused_even_when_claimed(path: str) -> None:
    assert refusal(claiming(path), add(path)).reason is Reason.FORBIDDEN_CONTENT
    assert inside(claiming("**"), delete(path))


def test_two_paths_that_are_one_file_elsewhere_are_both_named() -> None:
    changes = [add("README.md")]
    verdict = check_scope(Touched(changes, changes, [("README.md", "readme.md")]), ANYTHING)
    assert isinstance(verdict, Outside)
    assert verdict.reason is Reason.FORBIDDEN_CONTENT
    assert verdict.details == (
        "README.md and readme.md are one file where case or accents do not count.",
    )


def test_a_change_of_too_many_paths_is_refused() -> None:
    changes = [edit(f"src/{n}") for n in range(CHANGED_PATHS_MAX + 1)]
    verdict = refusal(claiming("src/**"), *changes)
    assert verdict.reason is Reason.TOO_LARGE
    assert verdict.details == ("The change touches 20001 paths; at most 20000 are allowed.",)


def test_a_stray_that_comes_last_of_many_is_found() -> None:
    changes = [*(edit(f"src/{n}") for n in range(CHANGED_PATHS_MAX - 1)), edit("zzz")]
    assert refusal(claiming("src/**"), *changes).strayed == ("zzz",)


def test_several_faults_are_all_told_and_the_gravest_is_the_reason() -> None:
    verdict = refusal(claiming("src/**"), edit("docs/x"), add("src/a\n"), edit(".mergebot.toml"))
    assert verdict.reason is Reason.FORBIDDEN_CONTENT
    assert verdict.strayed == (".mergebot.toml", "docs/x", "src/a\\x0a")


def test_the_command_that_would_extend_the_claim() -> None:
    strayed = ("docs/x", "my file", "app/[id].ts", render_path("a\u200bb"), render_path("a\udcff"))
    assert extend_command(strayed) == '@mergebot claim docs/x "my file" app/[id].ts a?b a?'


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1))
def test_extending_the_claim_as_told_covers_the_stray(path: str) -> None:
    if path not in {".", ".."} and path.strip():
        command = parse_commands(extend_command([render_path(path)]), "mergebot")
        assert isinstance(command, ExtendClaim), command
        assert inside(claiming(*command.patterns), edit(path))


@given(st.text(min_size=1))
def test_a_rendered_path_is_one_printable_line_and_unambiguous(path: str) -> None:
    rendered = render_path(path)
    assert rendered.isprintable()
    assert render_path(path + "\u200b") != render_path(path + "\\u200b")


@given(st.lists(st.tuples(st.text(min_size=1), st.sampled_from(Mode), st.sampled_from(Mode))))
def test_the_check_answers_whatever_the_diff_holds(records: list[tuple[str, Mode, Mode]]) -> None:
    changes = [Change(path, old, new, OLD, NEW) for path, old, new in records]
    verdict = check_scope(Touched(changes, changes[::2]), claiming("a*", "*/b"))
    assert isinstance(verdict, Inside | Outside)
