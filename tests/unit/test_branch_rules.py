from dataclasses import replace

import pytest

from mergebot.domain.branch_rules import BranchRules, Signature, unlandable, unverified
from mergebot.domain.gate import ExternalChecks
from mergebot.domain.ids import Sha
from mergebot.domain.policy import Method, Policy
from tests.support.sample import POLICY


def test_rules_that_bind_nobody_let_everything_land() -> None:
    assert unlandable(BranchRules(), POLICY) == ""


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        (BranchRules(closed="the list"), "the list lets others"),
        (BranchRules(pull_request="the ruleset"), "the ruleset wants every change"),
        (BranchRules(signatures="the ruleset"), "the ruleset requires signed commits"),
        (BranchRules(checks=("ci",), checks_by="the ruleset"), "requires the check `ci`"),
    ],
)
def test_what_no_landing_can_satisfy_is_said_with_the_name_of_the_rule(
    rules: BranchRules, word: str
) -> None:
    assert word in unlandable(rules, POLICY)


def test_a_linear_history_fits_every_method_but_merge() -> None:
    rules = BranchRules(linear="the ruleset")
    merging = replace(POLICY, queue=replace(POLICY.queue, method=Method.MERGE))
    assert unlandable(rules, POLICY) == ""
    assert "breaks" in unlandable(rules, merging)


def test_checks_that_somebody_reports_on_the_merged_commit_can_be_required() -> None:
    rules = BranchRules(checks=("mergebot", "ci"), checks_by="the ruleset")
    external = replace(POLICY, external=ExternalChecks(checks=("ci",)))
    assert unlandable(rules, external) == ""


GOOD = Signature(Sha("a" * 40), verified=True, reason="valid")
NONE = Signature(Sha("b" * 40), verified=False, reason="unsigned")
ODD = Signature(Sha("c" * 40), verified=False, reason="unknown_key")
SIGNED = BranchRules(signatures="the ruleset")


def by(method: Method) -> Policy:
    return replace(POLICY, queue=replace(POLICY.queue, method=method))


@pytest.mark.parametrize("found", [(), (GOOD,), (NONE,), (GOOD, NONE), (ODD, NONE)])
def test_what_mergebot_signs_anew_needs_no_signature_of_its_author(
    found: tuple[Signature, ...],
) -> None:
    assert unverified(SIGNED, by(Method.REBASE), found) == ""
    assert unverified(SIGNED, by(Method.SQUASH), (*found, ODD)) == ""


def test_a_signature_that_the_forge_does_not_verify_is_named() -> None:
    why = unverified(SIGNED, by(Method.REBASE), (GOOD, ODD))
    assert "the ruleset requires signed commits" in why
    assert "does not verify ccccccc (unknown_key)" in why


def test_a_merge_lands_the_authors_own_commits() -> None:
    assert unverified(SIGNED, by(Method.MERGE), (GOOD,)) == ""
    assert "bbbbbbb (unsigned)" in unverified(SIGNED, by(Method.MERGE), (GOOD, NONE))
