// What pages of the dashboard do in the browser: they stay current, and can be used with the keyboard. Everything else
// is HTML from the server, with htmx for links and forms. Without this script pages can be read.
"use strict";
(() => {
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const store = (name, value) => {
    document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=31536000; samesite=strict`;
  };

  // ---- Live: the server names topics that changed; a page that shows one asks for its main part again.

  const live = { on: localStorage.getItem("tasker-live") !== "off", stream: null, dirty: false, busy: false, seen: Date.now(), lost: false };

  // held: something is open or half written that a change of the page would take from under the hands.
  function held() {
    if (document.hidden || !live.on) return true;
    if ($("dialog[open], main details.act[open], main details.pop[open]")) return true;
    const at = document.activeElement;
    if (at && at.closest("main") && at.matches("input:not([type=checkbox]), textarea, select")) return true;
    return $$("main form[data-keep]").some((form) => form.dataset.touched);
  }

  function say() {
    const mark = $("#live");
    if (!mark) return;
    mark.classList.toggle("on", live.on && !live.lost);
    mark.classList.toggle("stale", live.lost);
    const text = live.lost ? `Stale since ${new Date(live.seen).toLocaleTimeString()}` : !live.on ? "Paused" : "Live";
    if (mark.textContent !== text) mark.textContent = text;
  }

  function lost(yes) {
    live.lost = yes;
    if (!yes) live.seen = Date.now();
    say();
  }

  async function refresh() {
    const main = $("#main");
    if (!main || !main.dataset.topics || live.busy) return;
    if (held()) return;
    live.busy = true;
    live.dirty = false;
    const address = location.href;
    try {
      const answer = await fetch(address, { headers: { "X-Live": main.dataset.etag || "none" }, cache: "no-store" });
      const to = answer.headers.get("HX-Redirect");
      if (to) {
        location.assign(to);
        return;
      }
      if (answer.status === 204) return lost(false);
      if (!answer.ok) return lost(true);
      const html = await answer.text();
      if (held() || location.href !== address) {
        live.dirty = true;
        return;
      }
      merge(main, html);
      main.dataset.etag = answer.headers.get("X-ETag");
      lost(false);
    } catch {
      lost(true);
    } finally {
      live.busy = false;
    }
  }

  // merge changes the page into the new one and keeps what the viewer has done in it: selection, focus, folds.
  function merge(main, html) {
    const here = $("tr.here", main)?.id;
    Idiomorph.morph(main, html, {
      morphStyle: "innerHTML",
      callbacks: {
        beforeNodeRemoved: (node) => !node.classList?.contains("views"),
        beforeAttributeUpdated: (name, node) => {
          if (name === "checked" || (name === "open" && node.matches("details"))) return false;
          return !(name === "viewBox" && node.dataset.moved) && name !== "aria-selected";
        },
      },
    });
    htmx.process(main);
    if (here) document.getElementById(here)?.classList.add("here");
    prepare();
  }

  function listen() {
    live.stream?.close();
    live.stream = null;
    const main = $("#main");
    if (document.hidden || !live.on || !main || !window.EventSource || !main.dataset.topics) return say();
    live.stream = new EventSource("/live");
    live.stream.addEventListener("open", () => { lost(false); live.dirty = true; });
    live.stream.addEventListener("error", () => {
      lost(true);
      // The browser connects again by itself, but not after an answer that is an error, such as that of a proxy.
      if (live.stream?.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
    });
    live.stream.addEventListener("change", (event) => {
      live.seen = Date.now();
      const shown = ($("#main")?.dataset.topics || "").split(" ");
      if (event.data.split(" ").some((topic) => shown.includes(topic))) live.dirty = true;
    });
  }

  setInterval(() => { if (live.dirty) refresh(); }, 1000);
  document.addEventListener("visibilitychange", () => { listen(); live.dirty = !document.hidden; });

  // ---- Times: "3 min ago" stays true.

  function relative(seconds) {
    const d = Math.abs(seconds);
    if (d < 1) return "now";
    const [n, unit] = d < 60 ? [d, "s"] : d < 3600 ? [d / 60, "min"] : d < 172800 ? [d / 3600, "h"] : [d / 86400, "d"];
    return seconds < 0 ? `in ${Math.floor(n)} ${unit}` : `${Math.floor(n)} ${unit} ago`;
  }
  function tell() {
    const now = Date.now();
    for (const time of $$("time[datetime]")) {
      if (time.dataset.fixed !== undefined) continue;
      const text = relative((now - Date.parse(time.dateTime)) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
  }
  setInterval(() => { if (!document.hidden) tell(); }, 1000);

  // ---- Settings.

  function settings() {
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const zone = $("#set-zone");
    if (zone && zone.options.length === 1) {
      for (const name of new Set([own, zone.dataset.zone].filter((z) => z && z !== "UTC"))) {
        zone.add(new Option(name === own ? `${name} (here)` : name, name));
      }
      zone.value = zone.dataset.zone || "";
    }
    const box = $("#set-live");
    if (box) box.checked = live.on;
  }
  document.addEventListener("change", (event) => {
    const { id, value, checked } = event.target;
    if (id === "set-live") {
      live.on = checked;
      localStorage.setItem("tasker-live", checked ? "on" : "off");
      listen();
      live.dirty = checked;
    } else if (id === "set-theme") {
      store("tasker_theme", value);
      if (value) document.documentElement.dataset.theme = value;
      else delete document.documentElement.dataset.theme;
    } else if (id === "set-zone") {
      store("tasker_zone", value);
      location.reload();
    } else if (id === "set-name") {
      store("tasker_name", value.trim());
    } else if (event.target.matches("[data-pick]")) {
      picked();
    } else if (event.target.matches("[data-pick-all]")) {
      for (const box of $$("[data-pick]")) box.checked = checked;
      picked();
    } else if (event.target.matches("form[data-submit] select, form[data-submit] input[type=checkbox]")) {
      event.target.form.requestSubmit();
    }
  });
  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form[data-keep]");
    if (form) form.dataset.touched = "1";
  });

  // ---- Selection of many rows.

  function picked() {
    const boxes = $$("[data-pick]");
    const count = boxes.filter((box) => box.checked).length;
    for (const box of boxes) box.closest("tr")?.setAttribute("aria-selected", box.checked);
    for (const bar of $$("[data-picked]")) bar.hidden = count === 0;
    for (const text of $$("[data-picked-count]")) text.textContent = count;
    const all = $("[data-pick-all]");
    if (all) {
      all.checked = count > 0 && count === boxes.length;
      all.indeterminate = count > 0 && count < boxes.length;
    }
  }

  // ---- Saved views: a list's address with its filters, under a name, in this browser.

  const views = {
    key: () => `tasker-views-${location.pathname}`,
    all() {
      try { return JSON.parse(localStorage.getItem(this.key())) || []; } catch { return []; }
    },
    store(list) {
      localStorage.setItem(this.key(), JSON.stringify(list.slice(0, 20)));
      this.show();
    },
    show() {
      const form = $("main form.filters[role=search]");
      if (!form) return;
      const list = this.all(), shown = location.search + JSON.stringify(list), old = $(".views");
      if (old?.dataset.shown === shown) return;
      old?.remove();
      const bar = Object.assign(document.createElement("nav"), { className: "views" });
      bar.setAttribute("aria-label", "Saved views");
      bar.dataset.shown = shown;
      for (const view of list) {
        const chip = Object.assign(document.createElement("span"), { className: "chip" });
        const link = Object.assign(document.createElement("a"), { href: location.pathname + view.query, textContent: view.name });
        if (view.query === location.search) link.setAttribute("aria-current", "true");
        const drop = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "×" });
        drop.setAttribute("aria-label", `Remove the view ${view.name}`);
        drop.addEventListener("click", () => this.store(this.all().filter((v) => v.name !== view.name)));
        chip.append(link, drop);
        bar.append(chip);
      }
      if (location.search && !list.some((v) => v.query === location.search)) bar.append(this.form());
      if (!bar.childElementCount) return;
      Element.prototype.after.call(form, bar); // a field of the form may have the name after
      htmx.process(bar);
    },
    form() {
      const fold = Object.assign(document.createElement("details"), { className: "act" });
      const save = Object.assign(document.createElement("form"), { className: "card" });
      const name = Object.assign(document.createElement("input"), { maxLength: 60, required: true, placeholder: "Name of this view" });
      name.setAttribute("aria-label", "Name of this view");
      fold.append(Object.assign(document.createElement("summary"), { className: "button", textContent: "Save view…" }), save);
      save.append(name, Object.assign(document.createElement("button"), { className: "primary", textContent: "Save" }));
      save.setAttribute("hx-boost", "false");
      save.addEventListener("submit", (event) => {
        event.preventDefault();
        const query = new URLSearchParams(location.search);
        query.delete("cursor");
        this.store([...this.all().filter((v) => v.name !== name.value), { name: name.value, query: `?${query}` }]);
      });
      return fold;
    },
  };

  // ---- Clicks: copy, dialogs, folds that close.

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const from = copy.dataset.copyFrom ? $(copy.dataset.copyFrom)?.textContent : copy.dataset.copy;
      try {
        await navigator.clipboard.writeText(from ?? "");
        copy.classList.add("done");
        setTimeout(() => copy.classList.remove("done"), 1500);
      } catch { /* the browser does not allow it; the text can be selected */ }
      return;
    }
    const opener = event.target.closest("[data-dialog]");
    if (opener) return document.getElementById(opener.dataset.dialog)?.showModal();
    for (const fold of $$("details.act[open], details.pop[open]")) {
      if (!fold.contains(event.target)) fold.open = false;
    }
  });
  document.addEventListener("toggle", (event) => {
    if (event.target.matches?.("details.act[open]")) {
      $("input:not([type=hidden]):not([type=checkbox]):not([type=radio]), select, textarea", event.target)?.focus();
    }
  }, true);

  // ---- Keyboard.

  const places = { n: "/", i: "/inbox", t: "/tasks", r: "/redrives", q: "/queues", w: "/workers", a: "/audit", s: "/system" };
  let going = false;

  const rows = () => $$("main tbody tr[data-row]");
  function move(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("here"));
    const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))];
    for (const row of all) row.classList.toggle("here", row === next);
    $("a", next)?.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }
  const here = () => $("main tr.here");

  // act opens the act of a key: of the row, of the selection, or of the page.
  function act(key) {
    const row = here();
    if (row && !$$("[data-pick]").some((box) => box.checked)) {
      const box = $("[data-pick]", row);
      if (box) { box.checked = true; picked(); }
    }
    const target = $$(`[data-key="${key}"]`).find((el) => el.offsetParent !== null);
    if (!target) return false;
    if (target.matches("details")) target.open = true;
    else target.click();
    return true;
  }

  const keys = {
    j: () => move(1), k: () => move(-1),
    Enter: () => { const link = here() && $("a", here()); if (link && document.activeElement !== link) link.click(); },
    x: () => { const box = here() && $("[data-pick]", here()); if (box) { box.checked = !box.checked; picked(); } },
    "/": () => $("main input[type=search]")?.focus(),
    "?": () => $("#keys")?.showModal(),
    a: () => act("a"), i: () => act("i"), e: () => act("e"), r: () => act("r"),
    g: () => { going = true; setTimeout(() => { going = false; }, 1500); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") {
      for (const fold of $$("details.act[open], details.pop[open]")) { fold.open = false; $("summary", fold)?.focus(); }
      if (document.activeElement?.matches("main input")) document.activeElement.blur();
      return;
    }
    if (event.target.closest?.("input:not([type=checkbox]), textarea, select, dialog, [contenteditable]")) return;
    if (going) {
      going = false;
      if (places[event.key]) { event.preventDefault(); $(`.menu a[href="${places[event.key]}"]`)?.click(); }
      return;
    }
    const does = keys[event.key];
    if (!does) return;
    if (event.key !== "Enter") event.preventDefault();
    does();
  });

  // ---- Graphs: drag to pan, wheel with Ctrl or the buttons to zoom.

  function zoom(svg, factor, cx = 0.5, cy = 0.5) {
    const box = svg.viewBox.baseVal;
    svg.dataset.home ||= svg.getAttribute("viewBox");
    const home = svg.dataset.home.split(" ").map(Number);
    const width = Math.min(Math.max(box.width / factor, home[2] / 40), home[2] * 2);
    const ratio = width / box.width;
    const x = box.x + box.width * cx * (1 - ratio), y = box.y + box.height * cy * (1 - ratio);
    svg.setAttribute("viewBox", `${x} ${y} ${width} ${box.height * ratio}`);
    svg.dataset.moved = "1";
  }
  document.addEventListener("wheel", (event) => {
    const svg = event.target.closest?.("svg[data-zoom]");
    if (!svg || !event.ctrlKey) return;
    event.preventDefault();
    const at = svg.getBoundingClientRect();
    zoom(svg, event.deltaY < 0 ? 1.15 : 1 / 1.15, (event.clientX - at.left) / at.width, (event.clientY - at.top) / at.height);
  }, { passive: false });
  document.addEventListener("pointerdown", (event) => {
    const svg = event.target.closest?.("svg[data-zoom]");
    if (!svg || event.target.closest("a")) return;
    svg.dataset.home ||= svg.getAttribute("viewBox");
    let [x, y] = [event.clientX, event.clientY];
    const pan = (e) => {
      const box = svg.viewBox.baseVal, scale = box.width / svg.getBoundingClientRect().width;
      svg.setAttribute("viewBox", `${box.x - (e.clientX - x) * scale} ${box.y - (e.clientY - y) * scale} ${box.width} ${box.height}`);
      [x, y] = [e.clientX, e.clientY];
      svg.dataset.moved = "1";
    };
    const end = () => { document.removeEventListener("pointermove", pan); document.removeEventListener("pointerup", end); };
    document.addEventListener("pointermove", pan);
    document.addEventListener("pointerup", end);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom-by]");
    const svg = button && $(button.dataset.zoomFor);
    if (!svg) return;
    if (button.dataset.zoomBy === "0") {
      if (svg.dataset.home) svg.setAttribute("viewBox", svg.dataset.home);
      delete svg.dataset.moved;
    } else zoom(svg, Number(button.dataset.zoomBy));
  });

  // ---- htmx: what fails is told where the viewer looks.

  document.addEventListener("htmx:sendError", () => {
    const p = Object.assign(document.createElement("p"), { className: "refused", role: "alert", textContent: "The server does not answer. Nothing was done; try again." });
    $("#notice")?.replaceChildren(p);
    lost(true);
  });
  document.addEventListener("htmx:responseError", () => $("#notice")?.scrollIntoView({ block: "nearest" }));
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target === document.body) {
      listen();
      if (location.hash === "") $("#main")?.focus({ preventScroll: true });
    }
    prepare();
  });

  function prepare() {
    settings();
    picked();
    views.show();
    tell();
    say();
  }
  document.addEventListener("DOMContentLoaded", () => { prepare(); listen(); });
})();
