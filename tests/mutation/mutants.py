"""Which faults are planted: one small change of the syntax tree each, in a fixed order.

Nothing is planted in docstrings, annotations, assertions, sentences for people and tables of
words: a fault there is a matter of wording, or of no consequence.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

_COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MOST_SHOWN: Final = 160
"""Characters of a change that identify it."""


@dataclass(frozen=True)
class Mutant:
    """One planted fault."""

    file: str
    """Path from the project's root."""
    function: str
    """Qualified name of the outermost function; `<module>` outside of all."""
    line: int
    change: str
    """`before → after`, with a number if the same change is possible more than once there."""
    in_function: bool
    """False: outside of functions, or where a function is defined (its defaults)."""
    source: str
    """Of the whole file, without the fault."""
    place: int
    """Of the changed node in a walk over the file's tree."""
    apply: Callable[[ast.AST], None]

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is known by, wherever its line moves."""
        return self.file, self.function, self.change

    def tree(self) -> ast.Module:
        """The whole file with the fault in it."""
        tree = ast.parse(self.source)
        self.apply(next(node for place, node in enumerate(ast.walk(tree)) if place == self.place))
        return ast.fix_missing_locations(tree)


Change = tuple[str, str, Callable[[ast.AST], None]]
"""Words before and after, and what makes the change in a copy of the node."""


def mutants_of(file: str, source: str) -> list[Mutant]:
    """All mutants of one file, from its top to its end."""
    tree = ast.parse(source)
    places = {id(node): place for place, node in enumerate(ast.walk(tree))}
    found: list[Mutant] = []
    seen: dict[tuple[str, str], int] = {}
    for site in _sites(tree):
        for before, after, apply in _changes(site):
            change = f"{_short(before)} → {_short(after)}"
            times = seen[site.function, change] = seen.get((site.function, change), 0) + 1
            found.append(
                Mutant(
                    file=file,
                    function=site.function,
                    line=getattr(site.node, "lineno", 0),
                    change=change if times == 1 else f"{change} ({times})",
                    in_function=site.outermost is not None,
                    source=source,
                    place=places[id(site.node)],
                    apply=apply,
                )
            )
    return found


# --- where ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Site:
    node: ast.AST
    function: str
    outermost: ast.AST | None
    is_enum: bool = False


def _sites(tree: ast.Module) -> Iterator[_Site]:
    yield from _below(tree, _Site(tree, "<module>", None), ())


def _below(node: ast.AST, site: _Site, names: tuple[str, ...]) -> Iterator[_Site]:
    """The node and all below it where faults may be planted, in the order of the source."""
    for name, child in _children(node):
        inside, path = site, names
        if isinstance(child, ast.ClassDef) and site.outermost is None:
            path = (*names, child.name)
            bases = [ast.unparse(base) for base in child.bases]
            inside = _Site(child, "<module>", None, is_enum="StrEnum" in bases)
        elif isinstance(node, _FUNCTIONS) and site.outermost is node and name != "body":
            inside = _Site(child, site.function, None)  # defaults run where it is defined
        elif (
            isinstance(child, _FUNCTIONS) and site.outermost is None and site.function == "<module>"
        ):
            own = "<lambda>" if isinstance(child, ast.Lambda) else child.name
            inside = _Site(child, ".".join((*names, own)), child)
        yield _Site(child, inside.function, inside.outermost, inside.is_enum)
        yield from _below(child, inside, path)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield name, child


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Constant()):
            return True  # docstrings, and those of attributes
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case _:
            return False


# --- what -------------------------------------------------------------------------------------


def _changes(site: _Site) -> Iterator[Change]:
    node = site.node
    if site.outermost is None:
        yield from _of_constant(node, words=site.is_enum)
        return
    yield from _of_constant(node, words=True)
    match node:
        case ast.Compare():
            yield from _of_comparison(node)
        case ast.BoolOp():
            yield from _of_condition(node)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield _replaced(node, node.operand)
        case ast.BinOp(op=op) if type(op) in _COMPUTED:
            yield _changed(node, "op", _COMPUTED[type(op)]())
        case ast.AugAssign(op=op):
            yield _emptied(node)
            if type(op) in _COMPUTED:
                yield _changed(node, "op", _COMPUTED[type(op)]())
        case ast.If() | ast.While():
            yield from _of_branch(node)
        case ast.IfExp():
            yield _replaced(node, node.body)
            yield _replaced(node, node.orelse)
        case ast.comprehension() if node.ifs:
            for place in range(len(node.ifs)):
                yield _dropped(node, "ifs", place)
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield _changed(node, "value", ast.Constant(None))
        case ast.Raise() | ast.Continue() | ast.Break():
            yield _emptied(node)
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom() | ast.Await()):
            yield _emptied(node)
        case ast.Call():
            yield from _of_call(node)
        case ast.Match() if len(node.cases) > 1:
            for place, case in enumerate(node.cases):
                is_last = case is node.cases[-1]
                if not (_never_happens(case) or (is_last and _does_nothing(case))):
                    yield _dropped(node, "cases", place)
        case ast.match_case(guard=ast.expr()):
            yield _changed(node, "guard", None)
        case _:
            return


def _of_constant(node: ast.AST, *, words: bool) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool() as value):
            yield _changed(node, "value", not value)
        case ast.Constant(value=int() | float() as number):
            yield _changed(node, "value", number + 1)
        case ast.Constant(value=str() as word) if words and not any(map(str.isspace, word)):
            yield _changed(node, "value", "" if word else "something")


def _of_comparison(node: ast.Compare) -> Iterator[Change]:
    for place, op in enumerate(node.ops):
        for other in _COMPARED[type(op)]:
            ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
            yield _changed(node, "ops", ops)


def _of_condition(node: ast.BoolOp) -> Iterator[Change]:
    yield _changed(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for place in range(len(node.values)):
        others = [*node.values[:place], *node.values[place + 1 :]]
        yield _changed(node, "values", others) if others[1:] else _replaced(node, others[0])


def _of_branch(node: ast.If | ast.While) -> Iterator[Change]:
    if isinstance(node, ast.If):
        yield _changed(node, "test", ast.Constant(True), shown="test")
    yield _changed(node, "test", ast.Constant(False), shown="test")


def _of_call(node: ast.Call) -> Iterator[Change]:
    if isinstance(node.func, ast.Name) and node.func.id in _NAMES:
        yield _changed(node, "func", ast.Name(_NAMES[node.func.id], ast.Load()))
    for place, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield _dropped(node, "keywords", place)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _never_happens(case: ast.match_case) -> bool:
    return "assert_never" in ast.unparse(case) or all(
        isinstance(each, ast.Raise) for each in case.body
    )


def _does_nothing(case: ast.match_case) -> bool:
    return all(isinstance(each, ast.Pass) for each in case.body)


# --- how --------------------------------------------------------------------------------------


def _changed(node: ast.AST, field: str, value: object, shown: str = "") -> Change:
    """Another value of one field; the words are of the node, or of the field `shown`."""

    def apply(target: ast.AST) -> None:
        setattr(target, field, copy.deepcopy(value))

    if shown:
        assert isinstance(value, ast.AST)
        return _words(getattr(node, shown)), _words(value), apply
    copied = copy.deepcopy(node)
    apply(copied)
    return _words(node), _words(copied), apply


def _dropped(node: ast.AST, field: str, place: int) -> Change:
    """One of the parts of a field is left out."""

    def apply(target: Any) -> None:
        del getattr(target, field)[place]

    return _words(getattr(node, field)[place]), f"nothing in {_words(node)}", apply


def _replaced(node: ast.AST, by: ast.expr) -> Change:
    """An expression becomes one of its parts."""

    def apply(target: ast.AST) -> None:
        part = copy.deepcopy(by)
        target.__class__ = part.__class__
        target.__dict__.clear()
        target.__dict__.update(part.__dict__)

    return _words(node), _words(by), apply


def _emptied(node: ast.stmt) -> Change:
    """A statement becomes `pass`."""

    def apply(target: ast.AST) -> None:
        target.__class__ = ast.Pass
        for field in ("value", "exc", "cause", "target", "op"):
            target.__dict__.pop(field, None)

    return _words(node), "pass", apply


def _words(node: ast.AST) -> str:
    match node:
        case ast.comprehension():
            return f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        case ast.match_case():
            guard = f" if {ast.unparse(node.guard)}" if node.guard is not None else ""
            return f"case {ast.unparse(node.pattern)}{guard}"
        case ast.Match():
            return f"match {ast.unparse(node.subject)}"
        case ast.keyword():
            return f"{node.arg}={ast.unparse(node.value)}"
        case _:
            return ast.unparse(node)


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}…"
