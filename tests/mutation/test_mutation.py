"""The tool itself: which faults it plants, and that it tells a noticed one from a survivor."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.__main__ import chosen
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.reach import PURE
from tests.mutation.report import reasons

pytestmark = pytest.mark.full


def pure_files() -> list[Path]:
    """Everywhere that faults are planted."""
    return sorted(file for folder in PURE for file in folder.rglob("*.py"))


def planted(source: str) -> list[str]:
    """The changes of a function that holds these lines."""
    body = "".join(f"    {line}\n" for line in source.splitlines())
    return [each.change for each in mutants_of("a.py", f"def f(a, b):\n{body}")]


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("return a < b", ["a < b → a <= b", "a < b → a >= b"]),
        ("return a is b", ["a is b → a is not b"]),
        ("return a in b", ["a in b → a not in b"]),
        ("return a and b", ["a and b → a or b", "a and b → b", "a and b → a"]),
        ("return not a", ["not a → a"]),
        ("return -a", ["-a → a"]),
        ("return a + b", ["a + b → a - b"]),
        ("return a // b", ["a // b → a * b"]),
        ("a += b", ["a += b → pass", "a += b → a -= b"]),
        ("a = 7", ["7 → 8"]),
        ("a = True", ["True → False"]),
        ("a = 'word'", ["'word' → ''"]),
        ("a = ''", ["'' → 'something'"]),
        ("a = min(b)", ["min(b) → max(b)"]),
        ("a = b(c=a)", ["c=a → nothing in b(c=a)"]),
        ("b(a)", ["b(a) → pass"]),
        ("raise a", ["raise a → pass"]),
        ("a = a if b else c", ["a if b else c → a", "a if b else c → c"]),
        ("if a: c = b", ["a → True", "a → False"]),
        ("while a: b", ["a → False"]),
        ("for a in b: break", ["break → pass"]),
        ("a = [c for c in b if c]", ["c → nothing in for c in b"]),
        (
            "match a:\n case 1: b = c\n case _: b = d",
            ["case 1 → nothing in match a", "case _ → nothing in match a", "1 → 2"],
        ),
        ("match a:\n case c if c: b = d", ["case c if c → case c"]),
        ("match a:\n case 1: b = c\n case _: pass", ["case 1 → nothing in match a", "1 → 2"]),
        (
            "match a:\n case 1: pass\n case _: b = c",
            [
                "case 1 → nothing in match a",
                "case _ → nothing in match a",
                "1 → 2",
            ],
        ),
    ],
)
def test_a_small_change_of_everything_that_decides_something(
    source: str, changes: list[str]
) -> None:
    found = [change for change in planted(source) if not change.endswith("→ return None")]
    assert sorted(found) == sorted(changes)


def test_a_return_is_emptied_unless_it_is_empty() -> None:
    assert planted("return a") == ["return a → return None"]
    assert planted("return") == planted("return None") == []


@pytest.mark.parametrize(
    "source",
    [
        "'''Docstring.'''",
        "assert a > 5",
        "a: int = b",
        "import b",
        "assert_never(a)",
        "a = 'words for people'",
        "a = f'{b} of 5'",
        "if TYPE_CHECKING: a = 5",
    ],
)
def test_what_is_wording_or_of_no_consequence_is_left_alone(source: str) -> None:
    assert planted(source) == []


def test_equal_changes_of_one_function_are_told_apart() -> None:
    assert planted("a = 1\nb = 1") == ["1 → 2", "1 → 2 (2)"]


def test_outside_of_functions_only_figures_and_names_of_an_enum_change() -> None:
    source = "A = B < 3\nclass C(StrEnum):\n    D = 'd'\nE = 'e'\ndef f(a=4): ...\nG = lambda: 5\n"
    found = [(each.function, each.change, each.in_function) for each in mutants_of("a.py", source)]
    assert found == [
        ("<module>", "3 → 4", False),
        ("<module>", "'d' → ''", False),
        ("f", "4 → 5", False),
        ("<lambda>", "5 → 6", True),
    ]


def _each_fiftieth() -> list[Mutant]:
    return [each for file in pure_files() for each in mutants_of(str(file), file.read_text())[::50]]


def test_every_mutant_is_python_and_another_program() -> None:
    mutants = _each_fiftieth()
    assert len(mutants) > 100
    for mutant in mutants:
        tree = mutant.tree()
        compile(tree, mutant.file, "exec")
        assert ast.dump(tree) != ast.dump(ast.parse(mutant.source)), mutant.key


def test_each_mutant_has_a_key_of_its_own() -> None:
    for file in pure_files():
        keys = [each.key for each in mutants_of(str(file), file.read_text())]
        assert len(keys) == len(set(keys)), file


def test_no_reason_is_left_behind_when_its_fault_is_gone() -> None:
    planted_now = {
        each.key for file in pure_files() for each in mutants_of(str(file), file.read_text())
    }
    assert set(reasons(Path("tests/mutation/survivors.toml"))) <= planted_now


# --- a project of its own ---------------------------------------------------------------------

TOY = """
from app.core.figures import MOST


def allowed(used):
    return used < MOST


def half(amount):
    return amount / 2


def alone():
    return 1
"""
FIGURES = """
def called_while_importing():
    return 5


MOST = called_while_importing()
UNUSED = 7
"""
ENDLESS = """
def counted(left):
    while left:
        left = left - 1
"""
TOY_TESTS = """
import pytest

from app.core.endless import counted
from app.core.toy import allowed, half


@pytest.mark.parametrize(("used", "expected"), [(4, True), (5, False)])
def test_allowed(used, expected):
    assert allowed(used) is expected


def test_half():
    assert half(0) == 0


def test_counted():
    counted(2)
"""


def mutated(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The tool, run on a small project."""
    command = [sys.executable, "-m", "tests.mutation", "--workers", "1", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two modules, tests that see most of them, and the tool."""
    here = Path(__file__).parent
    shutil.copytree(
        here, tmp_path / "tests/mutation", ignore=shutil.ignore_patterns("test_*", "__*__")
    )
    shutil.copy(here / "__main__.py", tmp_path / "tests/mutation")
    files = {
        "app/__init__.py": "",
        "app/core/__init__.py": "",
        "app/core/figures.py": FIGURES,
        "app/core/toy.py": TOY,
        "app/core/endless.py": ENDLESS,
        "tests/__init__.py": "",
        "tests/mutation/__init__.py": "",
        "tests/mutation/survivors.toml": "",
        "tests/core/test_toy.py": TOY_TESTS,
        "tests/detection/test_nothing.py": "def test_nothing():\n    pass\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_noticed_faults_hanging_ones_survivors_and_unreached_ones_are_told_apart(
    project: Path,
) -> None:
    done = mutated(project)
    assert done.returncode == 1, done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.strip()}
    assert rows["app/core/figures.py"] == ["2", "0", "1", "0", "66.7", "%"]
    assert rows["app/core/toy.py"][:4] == ["4", "0", "2", "2"]
    assert rows["app/core/endless.py"][:4] == ["0", "1", "2", "0"]
    for change in ("amount / 2 → amount * 2", "2 → 3", "return 1 → return None", "7 → 8"):
        assert f"change = '{change}'" in done.stdout


def test_survivors_with_a_reason_are_no_fault_of_the_tests(project: Path) -> None:
    first = mutated(project, "app/core/toy.py")
    entries = first.stdout.partition("survivors.toml:\n\n")[2].partition("\nno tests ran")[0]
    (project / "tests/mutation/survivors.toml").write_text(entries)
    second = mutated(project, "app/core/toy.py")
    assert (first.returncode, second.returncode) == (1, 0), second.stdout
    assert "survivors with a reason: 4" in second.stdout


def test_a_seed_chooses_the_same_sample_every_time(project: Path) -> None:
    first, second, other = (
        mutated(project, "app/core/toy.py", "--sample", "3", "--seed", seed).stdout
        for seed in ("1", "1", "2")
    )
    assert "5 tests, 3 mutants" in first

    def shown(output: str) -> list[str]:
        return [line for line in output.splitlines() if line.startswith(("app/", "change"))]

    assert shown(first) == shown(second) != shown(other)


def test_of_a_sample_nine_in_ten_have_to_be_noticed(project: Path) -> None:
    """It is drawn anew by every change of the code, so a single survivor is no news."""
    ends = set()
    for seed in "01234":
        done = mutated(project, "app/core/toy.py", "--sample", "1", "--seed", seed)
        is_noticed = "\nall  " in done.stdout and " 100.0 %\nsurvivors" in done.stdout
        assert (done.returncode == 0) is is_noticed
        ends.add(done.returncode)
    assert ends == {0, 1}


def test_a_change_of_one_file_leaves_the_sample_of_the_others() -> None:
    files = pure_files()
    everywhere = chosen(PURE, 200, 7)
    assert len(everywhere) == 200
    for changed in files[::10]:
        others = {each.key for each in chosen([each for each in files if each != changed], 200, 7)}
        kept = {each.key for each in everywhere if each.file != str(changed)}
        assert kept <= others


def test_tests_that_fail_without_any_fault_are_named(project: Path) -> None:
    (project / "tests/core/test_broken.py").write_text("def test_broken():\n    assert False\n")
    done = mutated(project, "app/core/toy.py", "--sample", "1")
    assert done.returncode == 1
    assert "FAILS WITHOUT ANY FAULT, and was left out: tests/core/test_broken.py" in done.stdout
