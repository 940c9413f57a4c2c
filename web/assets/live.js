// Live updates: the page's address, asked for as an event stream, sends the parts that changed. Without this script every page
// is whole and its links and forms work; with it nothing more is loaded from anywhere else.
"use strict";

(() => {
  let source = null;
  let retry = null;
  const status = document.getElementById("live");

  // morph makes an element like another one, and leaves what is the same untouched: so focus, selection, scrolling and what
  // the reader has opened or ticked stay as they are.
  function morph(from, to) {
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS")) from.removeAttribute(name);
    }
    for (const { name, value } of to.attributes) {
      if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
    if (from.nodeName === "INPUT" || from.nodeName === "TEXTAREA" || from.nodeName === "SELECT") return;
    const keyed = new Map();
    for (const child of from.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
    let at = from.firstChild;
    const wants = [...to.childNodes];
    for (const [i, want] of wants.entries()) {
      const key = want.nodeType === Node.ELEMENT_NODE ? want.dataset.key : undefined;
      let have = key ? keyed.get(key) : at;
      if (!key) while (have && have.dataset && have.dataset.key) have = have.nextSibling;
      // What is wanted no more goes first, so that what follows it is found.
      while (!key && have && have === at && have.nodeName !== want.nodeName && !wants.slice(i).some((w) => w.nodeName === have.nodeName)) {
        have = at = at.nextSibling;
        (at ? at.previousSibling : from.lastChild).remove();
      }
      if (!have || have.nodeName !== want.nodeName) {
        from.insertBefore(want, at);
        continue;
      }
      if (have === at) at = at.nextSibling;
      else from.insertBefore(have, at);
      if (have.nodeType === Node.ELEMENT_NODE) morph(have, want);
      else if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue;
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  // put replaces parts by their names with what the server rendered.
  function put(parts) {
    for (const [name, html] of Object.entries(parts)) {
      const old = document.querySelector(`[data-part="${CSS.escape(name)}"]`);
      if (!old) continue;
      // In an element, for a document drops the space that it begins with, and the rest would be other nodes than those it is like.
      const parsed = new DOMParser().parseFromString(`<div>${html}</div>`, "text/html").body.firstChild;
      const copy = old.cloneNode(false);
      copy.append(...parsed.childNodes);
      morph(old, copy);
    }
  }

  function say(text, state) {
    if (!status) return;
    status.textContent = text;
    status.dataset.state = state;
  }

  function stop() {
    clearTimeout(retry);
    retry = null;
    if (source) source.close();
    source = null;
  }

  function start() {
    stop();
    if (document.hidden || !document.body.dataset.live) return;
    const stream = new EventSource(location.href.split("#")[0]);
    source = stream;
    stream.addEventListener("open", () => say("live", "live"));
    stream.addEventListener("parts", (e) => {
      say("live", "live");
      put(JSON.parse(e.data));
    });
    stream.addEventListener("trouble", (e) => say("not up to date: " + e.data, "trouble"));
    const again = (seconds, text) => {
      if (source !== stream) return;
      stop();
      say(text, "trouble");
      retry = setTimeout(start, seconds * 1000 * (1 + Math.random()));
    };
    stream.addEventListener("bye", () => again(1, "the server is stopping"));
    stream.addEventListener("error", () => again(stream.readyState === EventSource.CLOSED ? 15 : 2, "not connected: what you see is old"));
  }

  // go shows another address of the same page without loading all of it: a sort, a filter.
  let going = 0;
  async function go(url, remember) {
    const mine = ++going;
    const answer = await fetch(url, { headers: { Accept: "text/html" } });
    const text = await answer.text();
    if (mine !== going) return; // typed on meanwhile
    if (!answer.ok) {
      location.assign(url);
      return;
    }
    const other = new DOMParser().parseFromString(text, "text/html");
    for (const part of document.querySelectorAll("[data-part]")) {
      const want = other.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
      if (want) morph(part, want);
    }
    history[remember ? "pushState" : "replaceState"](null, "", url);
    start();
  }

  document.addEventListener("click", (e) => {
    const link = e.target.closest("a[data-swap]");
    if (!link || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go(link.href, true);
  });

  let typing = null;
  document.addEventListener("input", (e) => {
    const form = e.target.closest("form[data-swap]");
    if (!form) return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const url = new URL(form.action, location.href);
      for (const [name, value] of new FormData(form)) if (value !== "") url.searchParams.set(name, value);
      go(url.href, false);
    }, 120);
  });

  // "Select all" ticks every box of its form. Without this script it would do nothing, so it is hidden.
  for (const box of document.querySelectorAll("input[data-all]")) box.hidden = false;
  document.addEventListener("change", (e) => {
    if (!e.target.matches("input[data-all]")) return;
    for (const box of e.target.form.querySelectorAll("input[type=checkbox]")) box.checked = e.target.checked;
  });

  addEventListener("popstate", () => location.reload());
  document.addEventListener("visibilitychange", () => (document.hidden ? (stop(), say("paused", "")) : start()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (e) => e.persisted && start());
  start();
})();
