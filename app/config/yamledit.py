"""Sets values in a YAML file and leaves everything else, comments too, as people wrote it.

The text is edited at the places that the parser names, and read again afterwards: if anything but
the wanted values has changed, or the file has a shape that cannot be edited so, nothing is done.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

Path = tuple[str, ...]
Value = int | float
_STEP: Final = "  "


class CannotEdit(ValueError):
    """The file would not say what it should; the text says why."""


def with_values(text: str, values: Mapping[Path, Value]) -> str:
    """`text` with each value at its path. Raises `CannotEdit`; then nothing was changed."""
    try:
        before = yaml.safe_load(text)
        edited = text
        for path, value in values.items():
            edited = _with_value(edited, path, value)
        after = yaml.safe_load(edited)
    except yaml.YAMLError as error:
        raise CannotEdit(f"it is no YAML that can be edited: {error}") from error
    wanted = before if before is not None else {}
    for path, value in values.items():
        wanted = _set(wanted, path, value)
    if after != wanted:
        raise CannotEdit("its anchors or merged keys do not let one value be changed alone")
    return edited


def _with_value(text: str, path: Path, value: Value) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return _appended(text, _block(path, value, ""))
    if not isinstance(root, yaml.MappingNode):
        raise CannotEdit("it is no mapping")
    node, depth = root, 0
    while True:
        key, child = _entry(node, path[depth])
        depth += 1
        if key is None or child is None:
            return _inserted(text, node, path[depth - 1 :], value, is_root=node is root)
        if depth == len(path):
            return _replaced(text, child, _written(value))
        if isinstance(child, yaml.MappingNode) and child.value:
            node = child
        elif isinstance(child, yaml.MappingNode) or _is_null(child):
            return _filled(text, node, key, child, path[depth:], value)
        else:
            raise CannotEdit(f"{'.'.join(path[:depth])} is no mapping")


def _entry(
    node: yaml.MappingNode, name: str
) -> tuple[yaml.ScalarNode, yaml.Node] | tuple[None, None]:
    """The last entry of that name, which is the one that counts."""
    for key, child in reversed(node.value):
        if isinstance(key, yaml.ScalarNode) and key.value == name:
            return key, child
    return None, None


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _replaced(text: str, node: yaml.Node, new: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    if not isinstance(node, yaml.ScalarNode) or "\n" in text[start:end]:
        raise CannotEdit("where a value should be, there is something else")
    gap = " " if start == end else ""  # an empty value stands right behind its colon
    return text[:start] + gap + new + text[end:]


def _inserted(text: str, node: yaml.MappingNode, path: Path, value: Value, *, is_root: bool) -> str:
    """A new entry as the first of a mapping that has others."""
    if node.flow_style:
        at = node.start_mark.index + 1
        more = ", " if node.value else ""
        return f"{text[:at]}{_flow_entry(path, value)}{more}{text[at:]}"
    first = node.value[0][0].start_mark
    indent = " " * first.column
    line_start = first.index - first.column
    if text[line_start : first.index].strip():  # the mapping begins behind something: `- a: 1`
        raise CannotEdit("a mapping begins in the middle of a line")
    block = _block(path, value, indent)
    if is_root:
        return _appended(text, block)
    return text[:line_start] + block + text[line_start:]


def _filled(
    text: str,
    parent: yaml.MappingNode,
    key: yaml.ScalarNode,
    child: yaml.Node,
    path: Path,
    value: Value,
) -> str:
    """The first entry of a mapping that is empty: `role:`, `role: {}`, `role: null`."""
    start, end = child.start_mark.index, child.end_mark.index
    if start != end or parent.flow_style:
        gap = " " if start == end else ""
        return f"{text[:start]}{gap}{{{_flow_entry(path, value)}}}{text[end:]}"
    line_end = text.find("\n", key.end_mark.index)
    block = _block(path, value, " " * key.start_mark.column + _STEP)
    if line_end < 0:
        return f"{text}\n{block}"
    return text[: line_end + 1] + block + text[line_end + 1 :]


def _appended(text: str, block: str) -> str:
    return text + ("\n" if text and not text.endswith("\n") else "") + block


def _block(path: Sequence[str], value: Value, indent: str) -> str:
    """Lines that say `value` at `path`, in block style."""
    lines = [f"{indent}{_STEP * depth}{_key(name)}:" for depth, name in enumerate(path)]
    lines[-1] += f" {_written(value)}"
    return "".join(f"{line}\n" for line in lines)


def _flow_entry(path: Sequence[str], value: Value) -> str:
    """The same in flow style."""
    inner = _written(value)
    for name in reversed(path[1:]):
        inner = f"{{{_key(name)}: {inner}}}"
    return f"{_key(path[0])}: {inner}"


def _key(name: str) -> str:
    """A name of ours; quoted where YAML would read anything but the text."""
    return name if yaml.safe_load(name) == name and name.isprintable() else f'"{name}"'


def _written(value: Value) -> str:
    return repr(value)  # as YAML has numbers, and no digit less


def _set(tree: Any, path: Path, value: Value) -> dict[str, Any]:
    """A copy of nested mappings with one value set; what is empty becomes a mapping."""
    copy = dict(tree) if tree else {}
    name, *rest = path
    copy[name] = _set(copy.get(name), tuple(rest), value) if rest else value
    return copy
