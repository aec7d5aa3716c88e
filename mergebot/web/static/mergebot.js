// Keeps an open page true: listens for changes, fetches the page again and swaps what differs.
// Without it everything can still be read, searched and paged.
"use strict";

(() => {
  const skew = () => {
    const at = Date.parse(document.body.dataset.at || "");
    return Number.isNaN(at) ? 0 : at - Date.now();
  };
  let ahead = skew();
  const now = () => Date.now() + ahead;

  const two = (whole, unit, names, lesser) => {
    const small = Math.floor((whole % unit) / lesser);
    return `${Math.floor(whole / unit)} ${names[0]}` + (small ? ` ${small} ${names[1]}` : "");
  };
  const duration = (seconds) => {
    const whole = Math.max(Math.round(seconds), 0);
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return two(whole, 60, ["min", "s"], 1);
    if (whole < 86400) return two(whole, 3600, ["h", "min"], 60);
    return two(whole, 86400, ["d", "h"], 3600);
  };
  const age = (seconds) => {
    const whole = Math.max(Math.round(seconds), 0);
    for (const [unit, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
      if (whole >= unit) return `${Math.floor(whole / unit)} ${name}`;
    }
    return `${whole} s`;
  };
  const since = (iso) => (now() - Date.parse(iso)) / 1000;

  const keepTime = () => {
    for (const each of document.querySelectorAll("time[data-ago]")) {
      const text = age(since(each.dateTime));
      if (each.textContent !== text) each.textContent = text;
    }
    for (const each of document.querySelectorAll("[data-elapsed]")) {
      each.textContent = duration(since(each.dataset.elapsed));
    }
    for (const each of document.querySelectorAll("progress[data-usual]")) {
      each.value = Math.min((since(each.dataset.since) / Number(each.dataset.usual)) * 100, 96);
    }
  };

  // A region is compared as the server sent it, so that counting seconds is no difference.
  const sent = new Map();
  const regions = (root) => [...root.querySelectorAll("[data-live]")].filter((each) => each.id);
  const shape = (region) => {
    const bare = region.cloneNode(true);
    for (const each of bare.querySelectorAll("time[data-ago], [data-elapsed]")) each.textContent = "";
    for (const each of bare.querySelectorAll("progress[data-usual]")) each.removeAttribute("value");
    return bare.outerHTML;
  };
  const remember = () => regions(document).forEach((each) => sent.set(each.id, shape(each)));

  const say = (text) => {
    const said = document.getElementById("said");
    if (text && said.textContent !== text) said.textContent = text;
  };

  const path = (element) => element && element.closest("[id]") && {
    id: element.closest("[id]").id,
    href: element.getAttribute("href"),
  };
  const refocus = (was) => {
    const home = was && document.getElementById(was.id);
    const links = home ? [...home.querySelectorAll("a, button, input, [tabindex]")] : [];
    const again = links.find((each) => each.getAttribute("href") === was.href);
    if (again) again.focus({ preventScroll: true });
  };

  const swap = (next) => {
    const entries = new Set([...document.querySelectorAll(".entry")].map((each) => each.id));
    for (const fresh of regions(next)) {
      const old = document.getElementById(fresh.id);
      const html = shape(fresh);
      if (!old || sent.get(fresh.id) === html) continue;
      const was = old.contains(document.activeElement) ? path(document.activeElement) : null;
      sent.set(fresh.id, html);
      old.replaceWith(document.adoptNode(fresh));
      refocus(was);
      say(fresh.dataset.say);
    }
    for (const each of document.querySelectorAll(".entry")) {
      if (!entries.has(each.id)) each.classList.add("fresh");
    }
    document.title = next.title;
    document.body.dataset.at = next.body.dataset.at || "";
    ahead = skew();
    keepTime();
    startLog(next);
  };

  let busy = false;
  let again = false;
  const refresh = async () => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.ok) swap(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      show(false);
    } finally {
      busy = false;
      if (again) {
        again = false;
        setTimeout(refresh, 150);
      }
    }
  };

  const show = (alive) => {
    const live = document.getElementById("live");
    live.hidden = false;
    live.textContent = alive ? "live" : "reconnecting";
    live.classList.toggle("lost", !alive);
  };
  const listen = (address) => {
    const news = new EventSource(address);
    news.addEventListener("hello", () => {
      show(true);
      refresh();
    });
    news.addEventListener("revision", refresh);
    news.addEventListener("error", () => {
      show(false);
      if (news.readyState === EventSource.CLOSED) {
        setTimeout(() => listen(address), 3000);
      }
    });
  };

  // The log of a running gate grows at its end; who reads further up is left there.
  let following = "";
  const startLog = (next) => {
    const log = document.getElementById("log");
    const newer = next && next.getElementById("log");
    if (!log && newer) return location.reload();
    if (log && newer && newer.dataset.run !== log.dataset.run) {
      log.dataset.run = newer.dataset.run;
      log.dataset.offset = newer.dataset.offset;
      log.textContent = newer.textContent;
      delete log.dataset.ended;
    }
    if (log && !("ended" in log.dataset) && following !== log.dataset.run) follow(log);
  };
  const follow = async (log) => {
    const run = log.dataset.run;
    following = run;
    log.scrollTop = log.scrollHeight;
    while (log.dataset.run === run) {
      const query = new URLSearchParams({ run, offset: log.dataset.offset });
      const answer = await fetch(`${log.dataset.log}?${query}`).catch(() => null);
      if (answer && answer.ok) {
        const more = await answer.json();
        if (log.dataset.run !== run) return;
        const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 24;
        if (more.text) log.append(more.text);
        log.dataset.offset = more.offset;
        if (more.text && atEnd) log.scrollTop = log.scrollHeight;
        if (more.ended) {
          log.dataset.ended = "";
          document.getElementById("log-state").textContent = "complete";
          return;
        }
      }
      await new Promise((done) => setTimeout(done, document.hidden ? 5000 : 1000));
    }
  };

  remember();
  keepTime();
  setInterval(keepTime, 1000);
  startLog(null);
  if (document.body.dataset.events) listen(document.body.dataset.events);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
})();
