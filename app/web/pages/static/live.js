// An open page follows what happens: the server sends it again, and what differs is changed in
// place. A tab that nobody sees follows nothing.

import { change } from "./change.js";

const SILENCE_MS = 45_000; // the server says that it is alive three times in that
const FIRST_RETRY_MS = 2_000;
const LAST_RETRY_MS = 60_000;

const address = document.querySelector('link[type="text/event-stream"]').href;
const status = document.getElementById("live");

let source = null;
let silence = 0;
let retry = 0;
let retryAfter = FIRST_RETRY_MS;
let lostAt = "";

function follow() {
  leave();
  if (document.hidden) return;
  source = new EventSource(address);
  source.addEventListener("page", (event) => {
    heard();
    show(new DOMParser().parseFromString(event.data, "text/html"));
  });
  source.addEventListener("alive", heard);
  source.addEventListener("error", lost);
  silence = setTimeout(lost, SILENCE_MS);
}

function leave() {
  source?.close();
  source = null;
  clearTimeout(silence);
  clearTimeout(retry);
}

function heard() {
  say("Live");
  lostAt = "";
  retryAfter = FIRST_RETRY_MS;
  clearTimeout(silence);
  silence = setTimeout(lost, SILENCE_MS);
}

function lost() {
  leave();
  lostAt ||= new Date().toISOString().slice(11, 19);
  say(`Not live since ${lostAt} UTC. Trying again.`);
  retry = setTimeout(follow, retryAfter);
  retryAfter = Math.min(2 * retryAfter, LAST_RETRY_MS);
}

function say(words) {
  if (status.textContent !== words) status.textContent = words;
}

function show(page) {
  const focused = document.activeElement;
  document.title = page.title;
  change(document.querySelector("main"), page.querySelector("main"));
  if (focused !== document.activeElement && focused?.isConnected) {
    focused.focus({ preventScroll: true });
  }
}

document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", leave);
addEventListener("pageshow", (event) => event.persisted && follow());
follow();
