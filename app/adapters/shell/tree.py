"""From the tree of tree-sitter-bash to the nodes of `app.testruns.shell_line`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from app.adapters.shell.budget import (
    MAX_DEPTH,
    MAX_LOOP_VALUES,
    MAX_NESTED_SHELLS,
    MAX_WRAPPERS,
    Budget,
)
from app.adapters.shell.inputs import (
    heredoc_substitutions,
    herestring_text,
    text_of_file,
)
from app.adapters.shell.nodes import (
    COMPARED,
    STATEMENT_GROUPS,
    behind_heredoc,
    branches_of_case,
    constant_variables,
    hides_all_output,
    members_of,
    parsed,
    redirects_of_members,
    runs_its_arguments,
    stages_of,
    uses_variable,
    with_output_hidden,
    with_output_in_a_file,
    writes_a_file,
)
from app.adapters.shell.scripts import WrittenScripts
from app.adapters.shell.source_code import shell_outs, with_source_from_input
from app.adapters.shell.texts import (
    commands_printed,
    decoded,
    heredoc_text,
    writes_its_input,
)
from app.adapters.shell.unwrap import Text, unwrap
from app.adapters.shell.words import WordReader, positional
from app.testruns.shell_line import (
    HOLE,
    AndOr,
    Assignment,
    AtExit,
    Background,
    Case,
    Function,
    If,
    Loop,
    Not,
    Pipeline,
    Sequence,
    ShellNode,
    SimpleCommand,
    Subshell,
    Words,
)

_NOTHING: Final = Sequence(())
_HOLE: Final = re.compile(f"{HOLE}([^{HOLE}]*){HOLE}")


@dataclass(slots=True)
class TreeReader:
    """Reads one text; nested shells get a reader of their own with the same budget."""

    budget: Budget
    scripts: WrittenScripts
    shells: int = 0
    depth: int = 0
    variables: dict[str, str] = field(default_factory=dict)
    forwarding: set[str] = field(default_factory=set)
    """Functions that run their arguments: `run() { echo "+ $*"; "$@"; }`."""
    words: WordReader = field(init=False)

    def __post_init__(self) -> None:
        self.words = WordReader(self.variables)

    def read(self, text: str, fed: str | None = None) -> ShellNode:
        """`fed`: the text on its standard input, which a single command in it reads."""
        root, is_all = parsed(text)
        return self.read_tree(root, is_all, text, fed)

    def read_tree(self, root: Node, is_all: bool, text: str, fed: str | None = None) -> ShellNode:
        """`root` is the tree of `text`; `is_all`: of all of it."""
        self.budget.complete &= is_all and not root.has_error
        if "=" in text and "$" in text:
            self.variables.update(constant_variables(root, self.words))
        if fed is not None and root.named_child_count == 1:
            return self._statement(root.named_children[0], fed)
        return self._statements(root.children)

    # statements

    def _statements(self, nodes: SequenceOf[Node]) -> ShellNode:
        items: list[ShellNode] = []
        for node in nodes:
            if node.type == "&" and items:
                items[-1] = Background(items[-1])
            elif node.is_named:
                item = self._statement(node)
                if item is not _NOTHING:
                    items.append(item)
        return items[0] if len(items) == 1 else Sequence(tuple(items)) if items else _NOTHING

    def _statement(self, node: Node, fed: str | None = None) -> ShellNode:
        """`fed`: the text on its standard input, where that is written in the line itself."""
        if not self.budget.take():
            return _NOTHING
        if self.depth >= MAX_DEPTH:
            self.budget.complete = False
            return _NOTHING
        self.depth += 1
        try:
            return self._dispatch(node, fed)
        finally:
            self.depth -= 1

    def _dispatch(self, node: Node, fed: str | None) -> ShellNode:
        match node.type:
            case "command":
                return self._command(node, fed)
            case "list":
                return self._and_or(members_of(node), fed, redirects_of_members(node))
            case "pipeline":
                return self._pipeline(stages_of(node), fed)
            case "redirected_statement":
                return self._redirected(node, fed)
            case "variable_assignment" | "variable_assignments":
                return self._assignment(node, declared=False)
            case "declaration_command":
                return self._assignment(node, declared=True)
            case "negated_command":
                return Not(self._last_child(node, fed))
            case "subshell" | "command_substitution" | "process_substitution":
                return Subshell(self._statements(node.children))
            case "test_command":
                return self._test(node)
            case "compound_statement" if node.children and node.children[0].type == "((":
                return self._test(node)
            case "if_statement" | "elif_clause":
                return self._if(node)
            case "while_statement" | "c_style_for_statement" | "for_statement":
                return self._loop(node)
            case "case_statement":
                return Case(tuple(self._statements(branch) for branch in branches_of_case(node)))
            case "function_definition":
                return self._function(node)
            case kind if kind in STATEMENT_GROUPS:
                return self._statements(node.children)
            case _:
                return _NOTHING

    def _last_child(self, node: Node, fed: str | None = None) -> ShellNode:
        named = [child for child in node.children if child.is_named]
        return self._statement(named[-1], fed) if named else _NOTHING

    def _and_or(
        self,
        members: SequenceOf[tuple[bool, Node]],
        fed: str | None,
        redirects: Mapping[int, list[Node]],
    ) -> ShellNode:
        last = len(members) - 1
        read = [
            (
                wants_success,
                _with_output_taken(
                    self._statement(member, fed if i == last else None),
                    redirects.get(member.id, ()),
                ),
            )
            for i, (wants_success, member) in enumerate(members)
        ]
        return AndOr(read[0][1], tuple(read[1:])) if len(read) > 1 else read[0][1]

    def _pipeline(self, stages: SequenceOf[Node], fed: str | None) -> ShellNode:
        """Gives back to an and-or list, or to `!`, what the grammar took into the pipeline."""
        first = stages[0]
        members = members_of(first)
        if len(members) > 1:
            before = members[:-1]
            read = [(wants, self._statement(member)) for wants, member in before]
            wants_success, last = members[-1]
            rest = self._pipeline([last, *stages[1:]], fed)
            return AndOr(read[0][1], (*read[1:], (wants_success, rest)))
        if first.type == "negated_command":
            named = [child for child in first.children if child.is_named]
            return Not(self._pipeline([named[-1], *stages[1:]], fed)) if named else _NOTHING
        read_stages: list[ShellNode] = []
        for i, stage in enumerate(stages):
            text = fed if i == 0 else commands_printed(stages[i - 1], self.words.arguments)
            read_stages.append(self._statement(stage, text))
        return Pipeline(tuple(read_stages)) if len(read_stages) > 1 else read_stages[0]

    def _redirected(self, node: Node, fed: str | None) -> ShellNode:
        body = node.child_by_field_name("body")
        after: list[Node] = []
        effects: list[ShellNode] = []
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "heredoc_redirect":
                fed = heredoc_text(redirect)
                after += behind_heredoc(redirect)
                effects += [self._statement(n) for n in heredoc_substitutions(redirect)]
            elif redirect.type == "herestring_redirect":
                fed = herestring_text(redirect, self.words)
            else:
                fed = text_of_file(redirect, self.words) or fed
                effects += self._substituted(redirect)
        if body is None:
            return Sequence(tuple(effects)) if effects else _NOTHING
        self.scripts.redirected(node, fed, self.words)
        if after:
            return self._continued(body, after, fed)
        read = self._statement(body, fed)
        read = _with_output_taken(read, node.children_by_field_name("redirect"))
        return Sequence((*effects, read)) if effects else read

    def _continued(self, body: Node, after: SequenceOf[Node], fed: str | None) -> ShellNode:
        """`cat <<EOF | bash && ls`: what follows on the line stands inside the redirection."""
        if after[0].type == "|":
            rest = after[1:]
            members = members_of(rest[0]) if rest else []
            if not members:
                return self._statement(body, fed)
            text = fed if writes_its_input(body) else None
            piped = Pipeline((self._statement(body, fed), self._statement(members[0][1], text)))
            further = tuple((wants, self._statement(member)) for wants, member in members[1:])
            return AndOr(piped, further) if further else piped
        read = self._statement(body, fed)
        wants_success = after[0].type == "&&"
        rest_members = [m for node in after[1:] for m in members_of(node)]
        further = tuple(
            (wants_success if i == 0 else wants, self._statement(member))
            for i, (wants, member) in enumerate(rest_members)
        )
        return AndOr(read, further) if further else read

    def _assignment(self, node: Node, *, declared: bool) -> ShellNode:
        parts = [node] if node.type == "variable_assignment" else node.children
        values: list[tuple[str, str]] = []
        for part in parts:
            name, value = part.child_by_field_name("name"), part.child_by_field_name("value")
            if part.type == "variable_assignment" and name is not None:
                text = "" if value is None else self.words.text(value)
                values.append((decoded(name), text))
        return Assignment(tuple(values), self._substitutions(), declared)

    def _test(self, node: Node) -> ShellNode:
        words: list[str] = []
        pending = list(reversed(node.children))
        while pending and self.budget.take():
            part = pending.pop()
            if part.type == "variable_name":
                words.append(f"{HOLE}{decoded(part)}{HOLE}")
            elif part.type in COMPARED or not part.children:
                words.append(self.words.text(part))
            else:
                pending.extend(reversed(part.children))
        if words[0] == "((" and (words[2:3] == ["++"] or words[2:3] == ["+="]):
            return Assignment(((words[1].strip(HOLE), "1"),), self._substitutions(), True)
        return SimpleCommand((tuple(words),), self._substitutions())

    def _if(self, node: Node) -> ShellNode:
        """`elif` is an `if` inside `else`."""
        named = [child for child in node.children if child.type != "comment"]
        then = next((i for i, child in enumerate(named) if child.type == "then"), len(named))
        clauses = [i for i, c in enumerate(named) if c.type in {"elif_clause", "else_clause"}]
        end = clauses[0] if clauses else len(named)
        otherwise: ShellNode | None = None
        for i in reversed(clauses):
            read = self._statement(named[i])
            if isinstance(read, If) and otherwise is not None and named[i].type == "elif_clause":
                read = If(read.condition, read.then, otherwise)
            otherwise = read
        return If(
            self._statements(named[1:then]), self._statements(named[then + 1 : end]), otherwise
        )

    def _loop(self, node: Node) -> ShellNode:
        body = node.child_by_field_name("body")
        if body is None:
            return _NOTHING
        if node.type == "while_statement":
            condition = self._statements(node.children_by_field_name("condition"))
            is_until = node.children[0].type == "until"
            return Loop(Not(condition) if is_until else condition, self._statement(body))
        variable = node.child_by_field_name("variable")
        values = node.children_by_field_name("value")
        if node.type == "for_statement" and variable is not None:
            name = decoded(variable)
            texts = [text for value in values for text in self.words.split(value)]
            inner = self._substitutions()
            loop = self._for(name, texts, body)
            return Sequence((*inner, loop)) if inner else loop
        return Loop(None, self._statement(body))

    def _for(self, name: str, values: SequenceOf[str], body: Node) -> ShellNode:
        """With few literal values the body is read once for each."""
        literal = values and not any(HOLE in value for value in values)
        if not literal or not uses_variable(body, name) or len(values) > MAX_LOOP_VALUES:
            return Loop(None, self._statement(body))
        outside = self.variables.get(name)
        rounds: list[ShellNode] = []
        for value in values:
            self.variables[name] = value
            rounds.append(self._statement(body))
        del self.variables[name]
        if outside is not None:
            self.variables[name] = outside
        return Loop(None, Sequence(tuple(rounds)))

    def _function(self, node: Node) -> ShellNode:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return _NOTHING
        read = self._statement(body)
        if runs_its_arguments(read):
            self.forwarding.add(decoded(name))
        return Function(decoded(name), read)

    # simple commands

    def _command(self, node: Node, fed: str | None) -> ShellNode:
        arguments: list[str] = []
        values: list[tuple[str, str]] = []
        effects: list[ShellNode] = []
        timed: ShellNode | None = None
        for child in node.children:
            match child.type:
                case "subshell":  # `time ( … )`
                    timed = self._statement(child)
                case "variable_assignment":
                    self.words.text(child.child_by_field_name("value") or child)
                case "file_redirect":
                    fed = text_of_file(child, self.words) or fed
                    effects += self._substituted(child)
                case "herestring_redirect":
                    fed = herestring_text(child, self.words)
                case "command_name":
                    arguments += self.words.split(child.children[0] if child.children else child)
                case "heredoc_redirect":
                    fed = heredoc_text(child)
                case "process_substitution" if fed is None and child.children[0].type == "<(":
                    fed = commands_printed(child.children[1], self.words.arguments)
                    text = self.words.text(child)
                    arguments.append(text if fed is None else "/dev/stdin")
                case _:
                    arguments += self.words.split(child)
        inner = (*self._substitutions(), *effects)
        if timed is not None:
            return Sequence((*inner, timed)) if inner else timed
        if not arguments:
            return Assignment(tuple(values), inner) if inner else _NOTHING
        return self.start(tuple(arguments), fed, inner)

    def start(self, words: Words, fed: str | None, inner: tuple[ShellNode, ...] = ()) -> ShellNode:
        """The program start `words`, its wrappers peeled off and its nested shells read."""
        if words[0] == "trap":
            return self._trap(words, inner)
        layers = [words]
        swallowed = False
        for _ in range(MAX_WRAPPERS):
            if layers[-1][0] in self.forwarding and len(layers[-1]) > 1:
                layers.append(layers[-1][1:])
                swallowed = True
                continue
            found = unwrap(layers[-1], fed) or self.scripts.started(layers[-1], fed)
            if found is None:
                layers[-1] = self.scripts.as_source(with_source_from_input(layers[-1], fed))
                inner += self._shell_outs(layers[-1])
                made = self.scripts.made
                return SimpleCommand(tuple(layers), inner, None, swallowed, made=made)
            swallowed |= found.swallows
            if isinstance(found.started, Text):
                return SimpleCommand(tuple(layers), inner, self._nested(found.started), swallowed)
            layers.append(found.started)
        self.budget.complete = False
        return SimpleCommand(tuple(layers), inner, None, swallowed)

    def _shell_outs(self, words: Words) -> tuple[ShellNode, ...]:
        """The commands that source text among `words` gives to a shell: they run inside it."""
        return (self._nested(Text(lines)),) if (lines := shell_outs(words)) else ()

    def _trap(self, words: Words, inner: tuple[ShellNode, ...]) -> ShellNode:
        if len(words) > 2 and not words[1].startswith("-") and {"EXIT", "0"} & set(words[2:]):
            body = self._nested(Text((words[1],)))
            return AtExit(body.body if isinstance(body, Subshell) else body)
        return SimpleCommand((words,), inner)

    def _nested(self, text: Text) -> ShellNode:
        if self.shells >= MAX_NESTED_SHELLS:
            self.budget.complete = False
            return _NOTHING
        lines: list[ShellNode] = []
        variables = self.variables | positional(text.arguments)
        for line in text.lines:
            reader = TreeReader(
                self.budget, self.scripts, self.shells + 1, self.depth, dict(variables)
            )
            readable = _HOLE.sub(lambda m: f"${{{m[1] or '_'}}}", line).replace(HOLE, "")
            lines.append(reader.read(readable, text.fed))
        body = lines[0] if len(lines) == 1 else Sequence(tuple(lines))
        return (
            body
            if text.same_shell
            else Subshell(body, fresh=True, errexit=text.errexit, pipefail=text.pipefail)
        )

    def _substituted(self, redirect: Node) -> list[ShellNode]:
        for child in redirect.children:
            if child.is_named:
                self.words.text(child)
        return list(self._substitutions())

    def _substitutions(self) -> tuple[ShellNode, ...]:
        """Reads the substitutions that the words read so far contained."""
        nodes = self.words.substitutions
        self.words.substitutions = []
        return tuple(self._statement(node) for node in nodes)


def _with_output_taken(read: ShellNode, redirects: SequenceOf[Node]) -> ShellNode:
    """The statement `read`, marked with what the redirections do with its output."""
    if any(map(writes_a_file, redirects)):
        read = with_output_in_a_file(read)
    return with_output_hidden(read) if hides_all_output(redirects) else read
