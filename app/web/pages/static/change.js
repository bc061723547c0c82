// Changes a part of a page in place, so that the focus, the scroll position, and what a person opened
// or typed stay.

// Makes `old` look like `wanted`, which is of the same kind. What a person has typed or ticked is no
// attribute, and stays.
export function change(old, wanted) {
  if (old.isEqualNode(wanted)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = wanted.data;
  } else {
    changeAttributes(old, wanted);
    changeChildren(old, wanted);
  }
}

function changeAttributes(old, wanted) {
  const isPersons = (name) => name === "open" && old.nodeName === "DETAILS";
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !isPersons(name)) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (old.getAttribute(name) !== value && !isPersons(name)) old.setAttribute(name, value);
  }
}

// What has a key is found again by it, wherever it stands; all else by its kind and order.
function changeChildren(old, wanted) {
  const stays = new Set([...wanted.children].map(key).filter(Boolean));
  const known = new Map();
  for (const child of [...old.children]) {
    const own = key(child);
    if (own && !stays.has(own)) child.remove();
    else if (own) known.set(own, child);
  }
  let place = old.firstChild;
  for (const child of [...wanted.childNodes]) {
    const found = key(child) ? known.get(key(child)) : next(place, child);
    known.delete(key(child));
    if (!found || kind(found) !== kind(child)) {
      old.insertBefore(document.importNode(child, true), place);
      continue;
    }
    if (!key(child)) while (place !== found) place = removed(place);
    if (found === place) place = place.nextSibling;
    else old.insertBefore(found, place);
    change(found, child);
  }
  while (place) place = removed(place);
}

// The first node from `place` on that may become `child`, unless one with a key comes before.
function next(place, child) {
  let node = place;
  while (node && !key(node) && kind(node) !== kind(child)) node = node.nextSibling;
  return node && !key(node) ? node : null;
}

function removed(node) {
  const following = node.nextSibling;
  node.remove();
  return following;
}

function kind(node) {
  return `${node.nodeName} ${node.id ?? ""}`;
}

function key(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  return node.dataset.key || node.id || node.getAttribute("aria-labelledby") || "";
}
